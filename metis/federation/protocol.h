// Who is let in, what is waited for, and who gets the next community model. What the updates are
// made into is the Aggregator's, everything else the Controller's: membership, evaluation,
// versions, timers. A protocol is a part of the policy: one file in metis/policy.
//
// Order of calls for an update: Admit (may refuse it), then Received; later, in arrival order over
// all updates, Offer; then TakeDue until it has nothing more, each time with Committed or Failed
// for what it gave. Owned by one Controller.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/federation/event.h"
#include "metis/federation/membership.h"

namespace metis::federation {

// An update with all that is known of it when its turn has come.
struct WeighedUpdate {
  UpdateId id;
  Version base;
  uint64_t steps = 0;
  uint64_t steps_at_base = 0;  // S_c when its learner got `base`
  ModelPtr model;
  CycleRecord cycle;
  double contribution = 0;
  double coverage = 1;
  bool kept_previous = false;

  template <typename A>
  friend void Fields(A& archive, WeighedUpdate& update) {
    archive("id", update.id);
    archive("base", update.base);
    archive("steps", update.steps);
    archive("steps_at_base", update.steps_at_base);
    archive("model", update.model);
    archive("cycle", update.cycle);
    archive("contribution", update.contribution);
    archive("coverage", update.coverage);
    archive("kept_previous", update.kept_previous);
  }
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  // The federation starts: who gets the initial model.
  virtual std::vector<LearnerId> Begin(Version version, const Membership& membership) = 0;

  // A learner is there (new, in a new life, or back). Should it get the community model now, and
  // should it drop what it was training?
  enum class Welcome { kNothing, kSend, kSendRestart };
  virtual Welcome Arrived(LearnerId learner, bool same_life) = 0;

  // May a learner that waits for a model have the current one?
  virtual bool Owes(LearnerId learner) const = 0;

  // Refuses an update that comes too late for this protocol.
  virtual Result<void> Admit(const UpdateId& id, Version base) const = 0;
  virtual void Received(LearnerId learner) = 0;
  // The learner's update was refused: nobody waits for it. What it has reported before stays.
  virtual void Refused(LearnerId learner) = 0;
  virtual void Offer(WeighedUpdate update) = 0;

  // The updates that are to become the next community model, in learner order, if it is time: one,
  // or those of a round, which replace all others.
  virtual std::optional<std::vector<WeighedUpdate>> TakeDue(const Membership& membership) = 0;
  // They are version `next` now.
  struct Sending {
    std::vector<LearnerId> receivers;  // who gets it
    bool restart = false;              // and drops the training under way
  };
  virtual Sending Committed(Version next, const std::vector<WeighedUpdate>& updates,
                            const Membership& membership) = 0;
  // The aggregator could not take them, and each is refused.
  virtual void Failed(const std::vector<WeighedUpdate>& updates) = 0;

  // Updates that were offered and are in no commit yet.
  virtual std::vector<UpdateId> Uncommitted() const = 0;
  // They never will be: the federation ends.
  virtual void Abandon() = 0;

  // The deadline that TakeDue() should be called at, if one is running: (round, time allowed).
  virtual std::optional<std::pair<uint64_t, Duration>> Deadline() const = 0;
  virtual void DeadlinePassed(uint64_t round) = 0;

  virtual void Save(BinaryWriter& archive) const = 0;
  virtual Result<void> Restore(BinaryReader& archive) = 0;
};

}  // namespace metis::federation
