#include "metis/federation/validation_cycle.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metis/core/check.h"
#include "metis/core/planted.h"

namespace metis::federation {

ValidationCycle::ValidationCycle(TriggerKind trigger, const TriggerSettings& settings,
                                 CycleThresholds thresholds)
    : trigger_(trigger), settings_(settings), thresholds_(thresholds) {}

void ValidationCycle::Begin(double validation_loss) {
  uint64_t cycle = record_.cycle + 1;
  record_ = CycleRecord{};
  record_.cycle = cycle;
  if (!std::isnan(validation_loss)) record_.losses.push_back(validation_loss);
}

bool ValidationCycle::EpochIsFailure(double loss, CycleReason& why) const {
  why = CycleReason::kC1;
  double previous = record_.losses.empty() ? 0 : record_.losses.back();
  // A loss of zero cannot improve, and one that is no number says nothing good.
  if (!(previous > 0) || !std::isfinite(previous) || !std::isfinite(loss)) return true;
  double change_pct = 100 * (loss - previous) / previous;
  if (change_pct >= 0) return true;
  why = CycleReason::kC2;
  return -change_pct <= thresholds_.vc_loss_pct;
}

bool ValidationCycle::Decide(double validation_loss, uint64_t staleness) {
  if (trigger_ == TriggerKind::kEpochs) {
    record_.reason = CycleReason::kEpochs;
    return record_.epochs >= settings_.local_epochs;
  }
  CycleReason why;
  bool failure = EpochIsFailure(validation_loss, why);
  if (failure) ++record_.failures;
  if (Planted(PlantedBug::kConsecutiveTombstones) && !failure) record_.failures = 0;
  if (failure && record_.failures > thresholds_.vc_tombstones) {
    record_.reason = why;
    return true;
  }
  if (limit_ && static_cast<double>(staleness) > *limit_) {
    record_.reason = CycleReason::kC3;
    return true;
  }
  record_.reason = CycleReason::kMaxEpochs;
  return record_.epochs >= settings_.max_epochs;
}

bool ValidationCycle::EpochEnded(double validation_loss, uint64_t staleness) {
  ++record_.epochs;
  record_.staleness = staleness;
  bool ask = Decide(validation_loss, staleness);
  // Once there is a validation set, a loss that is no number is recorded too: the next one has
  // nothing to compare with.
  bool recorded = !std::isnan(validation_loss) || !record_.losses.empty();
  if (recorded) record_.losses.push_back(validation_loss);
  if (ask && !limit_ && settings_.staleness_window > 0) {
    first_staleness_.push_back(static_cast<double>(staleness));
    if (first_staleness_.size() == settings_.staleness_window) limit_ = Statistic();
  }
  return ask;
}

double ValidationCycle::Statistic() const {
  switch (settings_.staleness_statistic) {
    case StalenessStatistic::kMedian:
      if (Planted(PlantedBug::kWrongMedian)) return first_staleness_[first_staleness_.size() / 2];
      return Median(first_staleness_);
    case StalenessStatistic::kMean:
      return std::accumulate(first_staleness_.begin(), first_staleness_.end(), 0.0) /
             static_cast<double>(first_staleness_.size());
    case StalenessStatistic::kMaximum:
      return *std::max_element(first_staleness_.begin(), first_staleness_.end());
  }
  METIS_CHECK(false);
}

double Median(std::vector<double> values) {
  METIS_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace metis::federation
