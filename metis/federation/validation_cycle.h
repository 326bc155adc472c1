// When a learner asks for an update (paper, section V). A cycle runs from a received community
// model to the learner's request. With the epochs trigger it has uf epochs; with the adaptive
// trigger it ends when the local validation loss no longer improves enough, or when the model grows
// too stale:
//
//   Vpct = 100 (VLoss_i - VLoss_{i-1}) / VLoss_{i-1}, VLoss_0 being the received model's loss
//   failure: (C1) Vpct >= 0, or (C2) Vpct < 0 and |Vpct| <= VC_Loss
//   VC_Tomb failures of the whole cycle are forgiven, consecutive or not; the next one asks
//   (C3) S_k > statistic of the staleness of the learner's first `staleness_window` cycles: asks at
//   once
//
// Owned by one LearnerSession. O(1) an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metis/federation/event.h"
#include "metis/federation/settings.h"

namespace metis::federation {

class ValidationCycle {
 public:
  ValidationCycle(TriggerKind trigger, const TriggerSettings& settings, CycleThresholds thresholds);

  // A community model was received; `validation_loss` is VLoss_0 (NaN without a validation set).
  void Begin(double validation_loss);

  // A local epoch ended; `staleness` is S_k now. True: ask for an update, record() says why.
  bool EpochEnded(double validation_loss, uint64_t staleness);

  // The cycle so far, or the one that just asked.
  const CycleRecord& record() const { return record_; }

  // What C3 compares with, once the window is full.
  std::optional<double> staleness_limit() const { return limit_; }

 private:
  bool EpochIsFailure(double loss, CycleReason& why) const;
  bool Decide(double validation_loss, uint64_t staleness);
  double Statistic() const;

  TriggerKind trigger_;
  TriggerSettings settings_;
  CycleThresholds thresholds_;

  CycleRecord record_;
  std::vector<double> first_staleness_;  // of the first staleness_window cycles
  std::optional<double> limit_;
};

// The middle value; the mean of the two middle ones where their number is even. Checked: not empty.
double Median(std::vector<double> values);

}  // namespace metis::federation
