#include "metis/federation/trigger.h"

#include <cmath>

#include "metis/core/check.h"

namespace metis::federation {
namespace {

class EpochsTrigger final : public Trigger {
 public:
  explicit EpochsTrigger(const TriggerSettings& settings) : epochs_(settings.local_epochs) {}

  std::optional<CycleReason> Failure(const CycleRecord&, const EndedEpoch&) const override {
    return std::nullopt;
  }
  Verdict Judge(const CycleRecord& cycle, const EndedEpoch&,
                std::optional<CycleReason>) const override {
    return {cycle.epochs >= epochs_, CycleReason::kEpochs};
  }

 private:
  const uint32_t epochs_;
};

class AdaptiveTrigger final : public Trigger {
 public:
  AdaptiveTrigger(const TriggerSettings& settings, CycleThresholds thresholds)
      : max_epochs_(settings.max_epochs), thresholds_(thresholds) {}

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
    if (-change_pct <= thresholds_.vc_loss_pct) return CycleReason::kC2;
    return std::nullopt;
  }

  Verdict Judge(const CycleRecord& cycle, const EndedEpoch& epoch,
                std::optional<CycleReason> failure) const override {
    if (failure && cycle.failures > thresholds_.vc_tombstones) return {true, *failure};
    const auto staleness = static_cast<double>(epoch.staleness);
    if (epoch.staleness_limit && staleness > *epoch.staleness_limit) {
      return {true, CycleReason::kC3};
    }
    return {cycle.epochs >= max_epochs_, CycleReason::kMaxEpochs};
  }

 private:
  const uint32_t max_epochs_;
  const CycleThresholds thresholds_;
};

}  // namespace

std::unique_ptr<const Trigger> MakeTrigger(TriggerKind kind, const TriggerSettings& settings,
                                           CycleThresholds thresholds) {
  switch (kind) {
    case TriggerKind::kEpochs:
      return std::make_unique<EpochsTrigger>(settings);
    case TriggerKind::kAdaptive:
      return std::make_unique<AdaptiveTrigger>(settings, thresholds);
  }
  METIS_CHECK(false);
}

}  // namespace metis::federation
