#include "metis/sim/cycle_oracle.h"

#include <algorithm>
#include <cmath>

#include "metis/core/text.h"

namespace metis::sim {

using federation::CycleReason;
using federation::CycleRecord;
using federation::CycleThresholds;
using federation::StalenessStatistic;
using federation::TriggerKind;

void CycleOracle::LifeBegins(LearnerId learner, const std::string& group) {
  Life life;
  auto own = settings_.trigger.group_thresholds.find(group);
  life.thresholds =
      own == settings_.trigger.group_thresholds.end() ? settings_.trigger.thresholds : own->second;
  lives_[learner] = std::move(life);
}

uint64_t CycleOracle::Failures(const CycleThresholds& thresholds, const CycleRecord& record,
                               Reason& last) {
  last.reset();
  if (record.losses.empty()) {  // no validation set: nothing ever improves
    last = CycleReason::kC1;
    return record.epochs;
  }
  uint64_t failures = 0;
  for (size_t i = 1; i < record.losses.size(); ++i) {
    double before = record.losses[i - 1];
    double after = record.losses[i];
    double improvement_pct = 100 * (before - after) / before;
    bool meaningful = before > 0 && std::isfinite(before) && std::isfinite(after);
    last.reset();
    if (!meaningful || !(improvement_pct > 0)) {
      last = CycleReason::kC1;
    } else if (improvement_pct <= thresholds.vc_loss_pct) {
      last = CycleReason::kC2;
    }
    if (last) ++failures;
  }
  return failures;
}

double CycleOracle::StalenessLimit(const Life& life) const {
  size_t window = settings_.trigger.staleness_window;
  std::vector<double> first(life.staleness.begin(),
                            life.staleness.begin() + static_cast<std::ptrdiff_t>(window));
  double sum = 0;
  for (double value : first) sum += value;
  std::sort(first.begin(), first.end());
  switch (settings_.trigger.staleness_statistic) {
    case StalenessStatistic::kMedian:
      return 0.5 * (first[(window - 1) / 2] + first[window / 2]);
    case StalenessStatistic::kMean:
      return sum / static_cast<double>(window);
    case StalenessStatistic::kMaximum:
      return first.back();
  }
  return 0;
}

CycleOracle::Reason CycleOracle::ShouldAsk(const Life& life, const CycleRecord& record) const {
  if (settings_.policy.trigger == TriggerKind::kEpochs) {
    if (record.epochs == settings_.trigger.local_epochs) return CycleReason::kEpochs;
    return std::nullopt;
  }
  Reason last;
  if (Failures(life.thresholds, record, last) > life.thresholds.vc_tombstones && last) return last;
  size_t window = settings_.trigger.staleness_window;
  bool full = window > 0 && life.staleness.size() >= window;
  if (full && static_cast<double>(record.staleness) > StalenessLimit(life)) return CycleReason::kC3;
  if (record.epochs >= settings_.trigger.max_epochs) return CycleReason::kMaxEpochs;
  return std::nullopt;
}

std::optional<std::string> CycleOracle::EpochDecided(LearnerId learner, const CycleRecord& record,
                                                     bool asked) {
  Life& life = lives_[learner];
  Reason should = ShouldAsk(life, record);
  if (asked) life.staleness.push_back(static_cast<double>(record.staleness));
  if (asked == should.has_value() && (!asked || record.reason == *should)) return std::nullopt;
  return Text("learner ", learner, asked ? " asked" : " did not ask", " after epoch ",
              record.epochs, " of cycle ", record.cycle, " with ", record.failures,
              " failures and staleness ", record.staleness, " for the reason ",
              EnumNames(record.reason)[static_cast<size_t>(record.reason)], ", not ",
              should ? EnumNames(*should)[static_cast<size_t>(*should)] : "yet");
}

}  // namespace metis::sim
