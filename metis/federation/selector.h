// Who is asked: to train in a round, and to evaluate an update. Selectors are parts of the policy:
// one file each in metis/policy. Stateless: what they draw is keyed by the seed of the settings and
// by what it is for, so that a restart asks the same learners. Owned by one Controller.
#pragma once

#include <cstdint>
#include <vector>

#include "metis/core/ids.h"
#include "metis/federation/event.h"

namespace metis::federation {

class TrainerSelector {
 public:
  virtual ~TrainerSelector() = default;

  // Of the learners that are live as the round begins, in id order; so is the answer.
  virtual std::vector<LearnerId> Choose(const std::vector<LearnerId>& live,
                                        uint64_t round) const = 0;
  // Does a learner that arrives during the round take part in it?
  virtual bool TakesLatecomer(LearnerId learner, uint64_t round) const = 0;
};

class EvaluatorSelector {
 public:
  virtual ~EvaluatorSelector() = default;

  // Of the other live learners with validation data, in id order; so is the answer.
  virtual std::vector<LearnerId> Choose(const std::vector<LearnerId>& able,
                                        const UpdateId& update) const = 0;
};

}  // namespace metis::federation
