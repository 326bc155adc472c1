#include "metis/report/part_done.h"

#include <algorithm>

namespace metis::report {

double PartDone(const federation::Controller& controller, Instant now) {
  const federation::StopSettings& stop = controller.settings().stop;
  const federation::Tally& counts = controller.statistics();
  const auto ratio = [](uint64_t done, uint64_t all) {
    return static_cast<double>(done) / static_cast<double>(all);
  };
  double part = 0;
  if (stop.duration) part = now.seconds() / stop.duration->seconds();
  if (stop.rounds) part = std::max(part, ratio(counts.commits, *stop.rounds));
  if (stop.requests) part = std::max(part, ratio(counts.requests, *stop.requests));
  return part;
}

}  // namespace metis::report
