// How weighed updates become community models. A protocol keeps the community model and
// decides when it is renewed and who gets it; the Controller does everything else: membership,
// evaluation, versions, timers. A new protocol is one class in one file and one line in
// MakeProtocol().
//
// Order of calls for an update: Admit (may refuse it), then Received; later, in arrival order over
// all updates, Offer; then TryCommit until it has nothing more. Owned by one Controller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/federation/community.h"
#include "metis/federation/event.h"
#include "metis/federation/membership.h"
#include "metis/federation/settings.h"

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

// A renewed community model: the controller gives it the next version.
struct Commit {
  std::vector<WeighedUpdate>
      updates;                       // what went in, in learner order; empty: a raised scale alone
  std::vector<LearnerId> receivers;  // who gets the new model now
  bool restart = false;              // receivers drop the training under way
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  virtual const ModelPtr& Current() const = 0;
  // The O(M N) definition of Current(); FedAsync, which has none, gives Current().
  virtual Result<ModelPtr> Recompute() const = 0;
  // p_k of the learner's latest model in the community; empty if it has none there.
  virtual std::optional<double> contribution(LearnerId learner) const = 0;
  virtual double total_contribution() const = 0;

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

  // The next commit that is due, if any. `next` is the version it will have, `largest` the largest
  // contribution that any member may have. An error names the updates it could not take.
  struct Failed {
    UpdateId id;
    Error error;
  };
  virtual std::optional<Commit> TryCommit(Version next, double largest,
                                          const Membership& membership,
                                          std::vector<Failed>& failed) = 0;

  // Updates that were offered and are in no commit yet.
  virtual std::vector<UpdateId> Uncommitted() const = 0;
  // They never will be: the federation ends.
  virtual void Abandon() = 0;

  // The deadline that TryCommit() should be called at, if one is running: (round, time allowed).
  virtual std::optional<std::pair<uint64_t, Duration>> Deadline() const = 0;
  virtual void DeadlinePassed(uint64_t round) = 0;

  // Can any learner's model be taken out? The error says why not.
  virtual Result<void> Withdrawable() const = 0;
  // Takes a learner's model out. O(M). An error if it has none, or none can be.
  virtual Result<void> Withdraw(LearnerId learner) = 0;

  virtual void Save(BinaryWriter& archive) const = 0;
  virtual Result<void> Restore(BinaryReader& archive) = 0;
};

// What a protocol is built on; references outlive it.
struct ProtocolParts {
  const Settings& settings;
  ModelPtr initial;
  ModelPool& pool;
  ModelStore& store;
};

std::unique_ptr<Protocol> MakeProtocol(const ProtocolParts& parts);

// Each in its own file.
std::unique_ptr<Protocol> MakeSyncProtocol(const ProtocolParts& parts);
std::unique_ptr<Protocol> MakeAsyncProtocol(const ProtocolParts& parts);
std::unique_ptr<Protocol> MakeFedAsyncProtocol(const ProtocolParts& parts);

}  // namespace metis::federation
