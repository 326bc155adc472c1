#include "metis/federation/validation_cycle.h"

#include <cmath>
#include <limits>

#include "metis/core/planted.h"

namespace metis::federation {

void ValidationCycle::Begin(double validation_loss) {
  uint64_t cycle = record_.cycle + 1;
  record_ = CycleRecord{};
  record_.cycle = cycle;
  if (!std::isnan(validation_loss)) record_.losses.push_back(validation_loss);
}

bool ValidationCycle::EpochEnded(double validation_loss, uint64_t staleness) {
  ++record_.epochs;
  record_.staleness = staleness;
  const EndedEpoch epoch{validation_loss, staleness};
  const std::optional<CycleReason> failure = trigger_->Failure(record_, epoch);
  if (failure) ++record_.failures;
  if (Planted(PlantedBug::kConsecutiveTombstones) && !failure) record_.failures = 0;
  const auto [ask, reason] = trigger_->Judge(record_, epoch, failure);
  record_.reason = reason;
  // Once there is a validation set, a loss that is no number is recorded too: the next one has
  // nothing to compare with.
  bool recorded = !std::isnan(validation_loss) || !record_.losses.empty();
  if (recorded) {
    // Those before the first number keep their places: the received model's, one an epoch.
    record_.losses.resize(record_.epochs, std::numeric_limits<double>::quiet_NaN());
    record_.losses.push_back(validation_loss);
  }
  if (ask) trigger_->Asked(staleness);
  return ask;
}

}  // namespace metis::federation
