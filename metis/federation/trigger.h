// When a learner asks for an update (paper, section V), looked at after every local epoch. A
// trigger is a part of the policy: one file in metis/policy. Owned by one ValidationCycle, which
// keeps the books.
#pragma once

#include <cstdint>
#include <optional>

#include "metis/federation/event.h"

namespace metis::federation {

// A local epoch that has ended.
struct EndedEpoch {
  double validation_loss = 0;  // NaN without a validation set
  uint64_t staleness = 0;      // S_k now
};

class Trigger {
 public:
  virtual ~Trigger() = default;

  // Does the epoch count against the tombstones? The losses of `cycle` are those before it.
  virtual std::optional<CycleReason> Failure(const CycleRecord& cycle,
                                             const EndedEpoch& epoch) const = 0;

  // `cycle` counts the epoch, and its failure if it was one.
  struct Verdict {
    bool ask = false;
    CycleReason reason = CycleReason::kEpochs;  // if it asks; else what would end the cycle at last
  };
  virtual Verdict Judge(const CycleRecord& cycle, const EndedEpoch& epoch,
                        std::optional<CycleReason> failure) const = 0;

  // The cycle has asked, with this staleness.
  virtual void Asked(uint64_t /*staleness*/) {}
  // What it compares a cycle's staleness with, if it does by now.
  virtual std::optional<double> staleness_limit() const { return std::nullopt; }
};

}  // namespace metis::federation
