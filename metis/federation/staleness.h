// The ledger of committed work (paper, section V): S_c counts the mini-batch steps of committed
// updates. A learner's effective staleness is S_k = S_c(now) - S_c(when it got its model) + its own
// steps since. Owned by one Controller. O(log n) a call; remembers only versions that a learner may
// still be training on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "metis/core/ids.h"

namespace metis::federation {

class StalenessLedger {
 public:
  uint64_t committed_steps() const { return committed_steps_; }  // S_c

  void Committed(uint64_t steps) { committed_steps_ += steps; }

  // The learner was sent this version now.
  void Sent(LearnerId learner, Version version);

  bool WasSent(LearnerId learner, Version version) const;

  struct Sending {
    Version version;
    uint64_t steps = 0;  // S_c then
  };
  // The newest version that the learner was sent in this life; empty: none yet.
  std::optional<Sending> Newest(LearnerId learner) const;

  // S_c when the learner was first sent `base`. Versions before `base` are forgotten: a learner
  // goes on from the newest it has used. Checked: WasSent(learner, base).
  uint64_t StepsAt(LearnerId learner, Version base);

  // Of an update that is committed now.
  uint64_t EffectiveStaleness(uint64_t steps_at_base, uint64_t own_steps) const {
    return committed_steps_ - steps_at_base + own_steps;
  }

  // The learner begins a new life: it holds no model.
  void Forget(LearnerId learner) { sent_.erase(learner); }

  template <typename A>
  friend void Fields(A& archive, StalenessLedger& ledger) {
    archive("committed_steps", ledger.committed_steps_);
    archive("sent", ledger.sent_);
  }

 private:
  uint64_t committed_steps_ = 0;
  std::map<LearnerId, std::map<Version, uint64_t>> sent_;
};

}  // namespace metis::federation
