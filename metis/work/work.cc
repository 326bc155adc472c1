#include "metis/work/work.h"

#include <array>
#include <span>

#include "metis/core/fingerprint.h"

namespace metis::work {

WorkKey Work::key() const {
  return {.kind = kind,
          .who = who,
          .model = model->Fingerprint(),
          .state = state.id,
          .cycle = cycle,
          .epoch = epoch};
}

uint64_t StateAfter(const Work& epoch) {
  const std::array<uint64_t, 5> parts = {epoch.who, epoch.model->Fingerprint(), epoch.state.id,
                                         epoch.cycle, epoch.epoch};
  return Fingerprint(std::as_bytes(std::span(parts)));
}

}  // namespace metis::work
