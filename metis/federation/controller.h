// The controller of a federation as a pure state machine: an event and its time go in, actions come
// out. No clock, thread, socket, file or random device: the network and the virtual-time simulator
// drive this same code, and folding the recorded events through it again gives the same state, bit
// for bit.
//
// Updates are committed one at a time in the order in which they arrived (linearizable). Under DVW
// several may be evaluated at once; a slow evaluation holds the others' commits no longer than its
// deadline.
//
// The driver must make an event (and the model in it) durable before any action it caused leaves
// the process. After a restart: Restore(latest snapshot), Handle() every later event with its
// actions dropped, then Resume(). One thread owns it. Handling costs O(1) models a commit (O(N) at
// the end of a round).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/archive.h"
#include "metis/federation/action.h"
#include "metis/federation/aggregator.h"
#include "metis/federation/evaluation.h"
#include "metis/federation/event.h"
#include "metis/federation/membership.h"
#include "metis/federation/model_store.h"
#include "metis/federation/part.h"
#include "metis/federation/protocol.h"
#include "metis/federation/settings.h"
#include "metis/federation/staleness.h"
#include "metis/federation/stop.h"
#include "metis/federation/weighting.h"

namespace metis::federation {

// What the paper counts.
struct Tally {
  uint64_t commits = 0;           // versions made
  uint64_t withdrawals = 0;       // of which took a learner out
  uint64_t requests = 0;          // updates committed
  uint64_t rejected = 0;          // updates refused; not those that the end cut off
  uint64_t models_exchanged = 0;  // 2 a request, plus those for evaluation
  uint64_t models_evaluated = 0;  // sent to evaluators

  template <typename A>
  friend void Fields(A& archive, Tally& statistics) {
    archive("commits", statistics.commits);
    archive("withdrawals", statistics.withdrawals);
    archive("requests", statistics.requests);
    archive("rejected", statistics.rejected);
    archive("models_exchanged", statistics.models_exchanged);
    archive("models_evaluated", statistics.models_evaluated);
  }

  friend bool operator==(const Tally&, const Tally&) = default;
};

class Controller {
 public:
  // `settings` are copied, and all parts of their policy are chosen; `pool` and `store` outlive the
  // controller, and the store is its own.
  Controller(const Settings& settings, ModelPtr initial, ModelPool& pool, ModelStore& store);

  // Appends what is to be done to `out`. Any event is safe in any state: what makes no sense is
  // ignored or refused by name.
  void Handle(Instant now, const Event& event, std::vector<Action>& out);

  // After a restart: what was promised and may not have left. Changes no state.
  void Resume(std::vector<Action>& out) const;

  // The whole state. Models are shared with it, not copied.
  Archived Snapshot() const;
  // Into a freshly constructed controller. On an error it must not be used.
  Result<void> Restore(const Archived& snapshot);
  // Equal states have equal hashes. O(M N).
  uint64_t StateHash() const;

  Instant now() const { return now_; }  // of the latest event
  Phase phase() const { return phase_; }
  const std::string& phase_reason() const { return phase_reason_; }
  bool operator_paused() const { return operator_paused_; }
  Version version() const { return version_; }
  const ModelPtr& community() const { return community_; }
  const Aggregator& aggregator() const { return *aggregator_; }
  const Protocol& protocol() const { return *protocol_; }
  const Membership& membership() const { return membership_; }
  const StalenessLedger& ledger() const { return ledger_; }
  const Tally& statistics() const { return statistics_; }
  const StopCriteria& tests() const { return stop_; }
  bool testing() const { return !tests_under_way_.empty(); }  // an observer owes an answer
  std::optional<StopReason> stop_reason() const { return stop_reason_; }
  const Settings& settings() const { return settings_; }
  // Can any learner's model be taken out? The error says why not.
  Result<void> Withdrawable() const;
  // Updates that were acknowledged and are neither committed nor refused yet.
  std::vector<UpdateId> Pending() const;

 private:
  // An acknowledged update on its way to its commit.
  struct PendingUpdate {
    uint64_t ordinal = 0;  // place in arrival order
    UpdateReceived update;
    uint64_t steps_at_base = 0;
    uint64_t training_examples = 0;  // behind this model: a later life may declare others
    EvaluationRound evaluation;

    template <typename A>
    friend void Fields(A& archive, PendingUpdate& pending) {
      archive("ordinal", pending.ordinal);
      archive("update", pending.update);
      archive("steps_at_base", pending.steps_at_base);
      archive("training_examples", pending.training_examples);
      archive("evaluation", pending.evaluation);
    }
  };
  using Out = std::vector<Action>;
  // A renewed community model, which gets the next version.
  struct Commit {
    std::vector<WeighedUpdate> updates;  // what went in; empty: a raised scale alone
    Protocol::Sending sending;
  };

  // One for each kind of event.
  void On(const LearnerJoined& event, Out& out);
  void On(const LearnerLost& event, Out& out);
  void On(const LearnerReturned& event, Out& out);
  void On(const LearnerLeft& event, Out& out);
  void On(const EpochReported& event, Out& out);
  void On(const UpdateReceived& event, Out& out);
  void On(const CommunityRequested& event, Out& out);
  void On(const CountsReceived& event, Out& out);
  void On(const EvaluationFailed& event, Out& out);
  void On(const CommunityTested& event, Out& out);
  void On(const OperatorCommand& event, Out& out);
  void On(const TimerFired& event, Out& out);

  // Members. Heard() finds the sender in its present life and takes it back if it was lost.
  Member* Heard(LearnerId learner, Incarnation incarnation, Out& out);
  // Sends away whoever asks after the end, or in a life that has been replaced.
  bool DismissStale(LearnerId learner, Incarnation incarnation, Out& out);
  Result<Membership::Joined> Admit(const LearnerJoined& event);
  void Gone(LearnerId learner, Presence presence, Out& out);
  void Welcome(LearnerId learner, bool same_life, Out& out);
  void SendCommunityTo(LearnerId learner, bool restart, Out& out);

  // Updates. Refusal() says what is wrong with one, whenever it comes.
  std::optional<RejectUpdate> Refusal(const UpdateReceived& event, const Member& member);
  void Reject(Member& member, RejectUpdate rejection, Out& out);
  void RejectStranger(const UpdateId& id, Out& out);
  void RejectEarly(const UpdateId& id, Out& out);
  void RejectSecond(const UpdateId& id, const UpdateId& first, std::optional<RejectUpdate> refusal,
                    Out& out);
  void Repeated(const UpdateId& id, const Member& member, Out& out);
  void AfterTheEnd(const UpdateId& id, Out& out);
  void PushVerdict(const Member& member, const UpdateId& id, Out& out) const;
  void Accept(const UpdateReceived& event, Member& member, Out& out);
  void AskEvaluators(PendingUpdate& pending, Out& out);
  PendingUpdate* FindPending(const UpdateId& id);

  // Progress, after every event: phase, then commits in arrival order, then stop criteria.
  void Advance(Out& out);
  void AdvancePhase(Out& out);
  void Begin(Out& out);
  void OfferWeighed();
  WeighedUpdate Weigh(PendingUpdate pending) const;
  void CommitAll(Out& out);
  bool CommitDue(Out& out);
  Result<void> Aggregate(const std::vector<WeighedUpdate>& updates);
  void RejectFailed(const UpdateId& id, const Error& error, Out& out);
  void Record(Commit commit, Out& out);
  void StartLeaseIfLost(LearnerId learner, Out& out);
  void Withdraw(LearnerId learner, Out& out);
  void RequestTest(Out& out);
  void ResendTests(Out& out) const;
  // After the end, once the last test is in.
  void DismissObservers(Out& out);
  bool FinishIfMet(Out& out);
  void Finish(StopReason reason, Out& out);
  void EnterPhase(Phase phase, std::string reason, Out& out);
  void StartTimerFor(TimerId timer, Instant due, Out& out);

  template <typename A>
  void StateFields(A& archive);
  void SaveParts(BinaryWriter& archive) const;
  Result<void> RestoreParts(BinaryReader& archive);

  // Constant after construction.
  const Settings settings_;
  const uint64_t schema_hash_;
  const std::unique_ptr<const Weighting> weighting_;  // null: the aggregator weighs by itself
  const std::optional<EvaluationTerms> evaluation_;   // empty: nobody evaluates
  const std::unique_ptr<const EvaluatorSelector> evaluators_;

  // State, all of it in the snapshot.
  Instant now_;
  Phase phase_ = Phase::kWaiting;
  std::string phase_reason_;
  bool operator_paused_ = false;
  bool begun_ = false;
  std::optional<StopReason> stop_reason_;
  Version version_;
  Membership membership_;
  StalenessLedger ledger_;
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<Aggregator> aggregator_;
  std::unique_ptr<ServerOptimizer> optimizer_;
  ModelPtr community_;
  std::vector<PendingUpdate> pending_;  // in arrival order
  uint64_t next_ordinal_ = 1;
  uint64_t deadline_round_ = 0;  // the latest round whose deadline has a timer
  std::map<TimerId, Instant> timers_;
  StopCriteria stop_;
  std::map<Version, ModelPtr> tests_under_way_;  // at most two
  bool test_due_ = false;                        // a third was to be asked for meanwhile
  std::optional<Version> latest_test_;
  uint64_t commits_at_test_ = 0;
  Tally statistics_;
};

}  // namespace metis::federation
