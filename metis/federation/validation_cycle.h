// The books of a learner's validation cycles (paper, section V). A cycle runs from a received
// community model to the learner's request; when that is due, the trigger says (trigger.h). After
// its first `staleness_window` cycles there is a limit of staleness for it to compare with.
//
// Owned by one LearnerSession. O(1) an epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metis/federation/event.h"
#include "metis/federation/settings.h"
#include "metis/federation/trigger.h"

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
  double Statistic() const;

  TriggerSettings settings_;
  std::unique_ptr<const Trigger> trigger_;

  CycleRecord record_;
  std::vector<double> first_staleness_;  // of the first staleness_window cycles
  std::optional<double> limit_;
};

// The middle value; the mean of the two middle ones where their number is even. Checked: not empty.
double Median(std::vector<double> values);

}  // namespace metis::federation
