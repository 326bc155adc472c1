// The books of a learner's validation cycles (paper, section V). A cycle runs from a received
// community model to the learner's request; when that is due, the trigger says (trigger.h).
//
// Owned by one LearnerSession. O(1) an epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "metis/federation/event.h"
#include "metis/federation/trigger.h"

namespace metis::federation {

class ValidationCycle {
 public:
  explicit ValidationCycle(std::unique_ptr<Trigger> trigger) : trigger_(std::move(trigger)) {}

  // A community model was received; `validation_loss` is VLoss_0 (NaN without a validation set).
  void Begin(double validation_loss);

  // A local epoch ended; `staleness` is S_k now. True: ask for an update, record() says why.
  bool EpochEnded(double validation_loss, uint64_t staleness);

  // The cycle so far, or the one that just asked.
  const CycleRecord& record() const { return record_; }

  // What the trigger compares staleness with, once it does.
  std::optional<double> staleness_limit() const { return trigger_->staleness_limit(); }

 private:
  std::unique_ptr<Trigger> trigger_;
  CycleRecord record_;
};

}  // namespace metis::federation
