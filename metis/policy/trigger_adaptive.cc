// The adaptive trigger (paper, section V): a learner asks when its local validation loss no longer
// improves enough, or when its model grows too stale:
//
//   Vpct = 100 (VLoss_i - VLoss_{i-1}) / VLoss_{i-1}, VLoss_0 being the received model's loss
//   failure: (C1) Vpct >= 0, or (C2) Vpct < 0 and |Vpct| <= VC_Loss
//   VC_Tomb failures of the whole cycle are forgiven, consecutive or not; the next one asks
//   (C3) S_k > statistic of the staleness of the learner's first `staleness_window` cycles: asks at
//   once
#include <algorithm>
#include <cmath>
#include <numeric>

#include "metis/core/median.h"
#include "metis/core/planted.h"
#include "metis/federation/validation_cycle.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::CycleFacts;
using federation::CycleReason;
using federation::CycleRecord;
using federation::EndedEpoch;
using federation::PartKey;
using federation::Settings;

constexpr std::string_view kSection = "trigger";
constexpr int64_t kMany = 1'000'000;  // beyond it is a slip
// The number that C3 compares a learner's staleness with, taken from its first cycles.
enum class Statistic { kMedian, kMean, kMaximum };
constexpr std::array<std::string_view, 3> kStatistics = {"median", "mean", "maximum"};
// The paper's example for slow machines.
constexpr std::array<PartKey::OfGroup, 1> kSlowLoss = {{{"slow", 1.0}}};
constexpr std::array<PartKey::OfGroup, 1> kSlowTombstones = {{{"slow", int64_t{1}}}};

constexpr PartKey kLossPct = {
    .section = kSection,
    .name = "vc_loss_pct",
    .fallback = 0.0,
    .allowed = federation::NumberRange{0, 100},
    .documentation =
        "The adaptive trigger counts an improvement of the validation loss up to this "
        "many per cent as a failure.",
    .column = "loss %",
    .group_defaults = kSlowLoss};
constexpr PartKey kTombstones = {
    .section = kSection,
    .name = "vc_tombstones",
    .fallback = int64_t{4},
    .allowed = federation::WholeRange{0, kMany},
    .documentation = "The failures that the adaptive trigger allows in a cycle; the next one asks.",
    .column = "tombstones",
    .group_defaults = kSlowTombstones};
constexpr PartKey kWindow = {.section = kSection,
                             .name = "staleness_window",
                             .fallback = int64_t{20},
                             .allowed = federation::WholeRange{1, kMany},
                             .documentation =
                                 "After its first so many cycles a learner knows its "
                                 "usual staleness, and exceeding it asks."};
constexpr PartKey kStatistic = {
    .section = kSection,
    .name = "staleness_statistic",
    .fallback = std::string_view("median"),
    .allowed = federation::WordList{kStatistics},
    .documentation = "What of those first cycles is the usual staleness."};
// One that always improves must end.
constexpr PartKey kMaxEpochs = {
    .section = kSection,
    .name = "max_epochs",
    .fallback = int64_t{1000},
    .allowed = federation::WholeRange{1, kMany},
    .documentation = "An adaptive cycle asks at the latest after this many epochs."};

class Trigger final : public federation::Trigger {
 public:
  Trigger(const Settings& settings, const std::string& group)
      : loss_pct_(settings.values.Get<double>(kLossPct, group)),
        tombstones_(settings.values.Get<uint32_t>(kTombstones, group)),
        window_(settings.values.Get<size_t>(kWindow)),
        statistic_(settings.values.Get<Statistic>(kStatistic)),
        max_epochs_(settings.values.Get<uint32_t>(kMaxEpochs)) {}

  std::optional<CycleReason> Failure(const CycleRecord& cycle,
                                     const EndedEpoch& epoch) const override {
    const double previous = cycle.losses.empty() ? 0 : cycle.losses.back();
    const double loss = epoch.validation_loss;
    // A loss of zero cannot improve, and one that is no number says nothing good.
    if (!(previous > 0) || !std::isfinite(previous) || !std::isfinite(loss)) {
      return CycleReason::kC1;
    }
    const double change_pct = 100 * (loss - previous) / previous;
    if (change_pct >= 0) return CycleReason::kC1;
    if (-change_pct <= loss_pct_) return CycleReason::kC2;
    return std::nullopt;
  }

  Verdict Judge(const CycleRecord& cycle, const EndedEpoch& epoch,
                std::optional<CycleReason> failure) const override {
    if (failure && cycle.failures > tombstones_) return {true, *failure};
    if (limit_ && static_cast<double>(epoch.staleness) > *limit_) return {true, CycleReason::kC3};
    return {cycle.epochs >= max_epochs_, CycleReason::kMaxEpochs};
  }

  void Asked(uint64_t staleness) override {
    if (limit_) return;
    first_staleness_.push_back(static_cast<double>(staleness));
    if (first_staleness_.size() == window_) limit_ = Limit();
  }
  std::optional<double> staleness_limit() const override { return limit_; }

 private:
  double Limit() const {
    switch (statistic_) {
      case Statistic::kMedian:
        if (Planted(PlantedBug::kWrongMedian)) return first_staleness_[window_ / 2];
        return Median(first_staleness_);
      case Statistic::kMean:
        return std::accumulate(first_staleness_.begin(), first_staleness_.end(), 0.0) /
               static_cast<double>(first_staleness_.size());
      case Statistic::kMaximum:
        return *std::max_element(first_staleness_.begin(), first_staleness_.end());
    }
    METIS_CHECK(false);
  }

  const double loss_pct_;
  const uint32_t tombstones_;
  const size_t window_;
  const Statistic statistic_;
  const uint32_t max_epochs_;

  std::vector<double> first_staleness_;  // of the first `window_` cycles
  std::optional<double> limit_;
};

void Draw(Random& random, Settings& settings) {
  federation::PartValues& values = settings.values;
  values.Set(kLossPct, random.Uniform(0, 3));
  values.Set(kTombstones, static_cast<int64_t>(random.Below(4)));
  const bool other = random.Chance(0.5);
  values.SetOfGroup(kLossPct, "slow", other ? random.Uniform(0, 3) : 1.0);
  values.SetOfGroup(kTombstones, "slow", other ? static_cast<int64_t>(random.Below(3)) : 1);
  values.Set(kWindow, static_cast<int64_t>(1 + random.Below(10)));
  values.Set(kStatistic, std::string(kStatistics[random.Below(kStatistics.size())]));
  values.Set(kMaxEpochs, static_cast<int64_t>(5 + random.Below(15)));
}

// --- What the laws expect, in the most literal way
// ---------------------------------------------------------------------

// Failures of the whole cycle; `last` is why its latest epoch was one.
uint64_t ExpectFailures(double loss_pct, const CycleRecord& record,
                        std::optional<CycleReason>& last) {
  last.reset();
  if (record.losses.empty()) {  // no validation set: nothing ever improves
    last = CycleReason::kC1;
    return record.epochs;
  }
  uint64_t failures = 0;
  for (size_t i = 1; i < record.losses.size(); ++i) {
    const double before = record.losses[i - 1];
    const double after = record.losses[i];
    const double improvement_pct = 100 * (before - after) / before;
    const bool meaningful = before > 0 && std::isfinite(before) && std::isfinite(after);
    last.reset();
    if (!meaningful || !(improvement_pct > 0)) {
      last = CycleReason::kC1;
    } else if (improvement_pct <= loss_pct) {
      last = CycleReason::kC2;
    }
    if (last) ++failures;
  }
  return failures;
}

double ExpectLimit(std::string_view statistic, std::vector<double> first) {
  const size_t n = first.size();
  double sum = 0;
  for (double value : first) sum += value;
  std::sort(first.begin(), first.end());
  if (statistic == "median") return 0.5 * (first[(n - 1) / 2] + first[n / 2]);
  return statistic == "mean" ? sum / static_cast<double>(n) : first.back();
}

std::optional<CycleReason> Expect(const Settings& settings, const CycleFacts& facts) {
  const federation::PartValues& values = settings.values;
  std::optional<CycleReason> last;
  const uint64_t failures =
      ExpectFailures(values.Get<double>(kLossPct, facts.group), facts.record, last);
  if (failures > values.Get<uint64_t>(kTombstones, facts.group) && last) return last;
  const auto window = values.Get<size_t>(kWindow);
  if (window > 0 && facts.staleness.size() >= window) {
    const auto end = facts.staleness.begin() + static_cast<std::ptrdiff_t>(window);
    const double limit =
        ExpectLimit(values.Get<std::string>(kStatistic), {facts.staleness.begin(), end});
    if (static_cast<double>(facts.record.staleness) > limit) return CycleReason::kC3;
  }
  if (facts.record.epochs >= values.Get<uint64_t>(kMaxEpochs)) return CycleReason::kMaxEpochs;
  return std::nullopt;
}

federation::TriggerPart Describe() {
  federation::TriggerPart part;
  part.name = "adaptive";
  part.help = "when its validation loss says so, or its model is too stale";
  part.keys = {kLossPct, kTombstones, kWindow, kStatistic, kMaxEpochs};
  part.draw = Draw;
  part.watches_loss = true;
  part.fixed_epochs = [](const Settings&) { return std::nullopt; };
  part.in_words = [](const Settings&) { return "adaptive"; };
  part.make = [](const Settings& settings, const std::string& group) {
    return std::make_unique<Trigger>(settings, group);
  };
  part.expect = Expect;
  return part;
}

}  // namespace

const federation::TriggerPart& AdaptiveTrigger() {
  static const auto* part = new federation::TriggerPart(Describe());
  return *part;
}

}  // namespace metis::policy
