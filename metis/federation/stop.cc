#include "metis/federation/stop.h"

#include "metis/core/planted.h"

namespace metis::federation {

bool StopCriteria::Tested(Version version, double accuracy, ModelPtr model) {
  ++tests_;
  latest_accuracy_ = accuracy;
  const bool best = best_.Offer(accuracy) ||
                    (Planted(PlantedBug::kPatienceOfEquals) && accuracy == best_accuracy());
  if (best) {
    best_version_ = version;
    best_model_ = std::move(model);
    tests_since_best_ = 0;
  } else {
    ++tests_since_best_;
  }
  return best;
}

std::optional<StopReason> StopCriteria::Met(uint64_t commits, uint64_t requests,
                                            bool synchronous) const {
  if (synchronous && settings_.rounds && commits >= *settings_.rounds) return StopReason::kRounds;
  if (settings_.requests && requests >= *settings_.requests) return StopReason::kRequests;
  if (tests_ == 0) return std::nullopt;
  const bool again = !Planted(PlantedBug::kTargetMissed) || tests_since_best_ > 0;
  if (settings_.target_accuracy && best_accuracy() >= *settings_.target_accuracy && again) {
    return StopReason::kTargetAccuracy;
  }
  if (settings_.patience && tests_since_best_ >= *settings_.patience) return StopReason::kPatience;
  return std::nullopt;
}

}  // namespace metis::federation
