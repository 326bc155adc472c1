// What the controller wants done: values that a driver carries out (messages to participants,
// timers) or records (notes). The controller never waits for any of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "metis/core/time.h"
#include "metis/federation/event.h"

namespace metis::federation {

enum class Phase { kWaiting, kRunning, kPaused, kFinished };
constexpr auto EnumNames(Phase) {
  return std::array<std::string_view, 4>{"waiting", "running", "paused", "finished"};
}

enum class StopReason { kDuration, kRounds, kRequests, kTargetAccuracy, kPatience, kOperator };
constexpr auto EnumNames(StopReason) {
  return std::array<std::string_view, 6>{"duration",        "rounds",   "requests",
                                         "target-accuracy", "patience", "operator"};
}

enum class RejectReason {
  kUnknownLearner,
  kStaleIncarnation,
  kSchema,
  kGate,
  kForgedCounts,
  kUnknownBase,
  kLate,
  kStorage,
  kFinished,
  kUnknownUpdate,
};
constexpr auto EnumNames(RejectReason) {
  return std::array<std::string_view, 10>{
      "unknown-learner", "stale-incarnation", "schema", "gate",
      "forged-counts",   "unknown-base",      "late",   "storage",
      "finished",        "unknown-update"};
}

// --- Messages to a participant
// -------------------------------------------------------------------------

struct AcceptJoin {
  LearnerId learner;
  Incarnation incarnation;
};

struct RefuseJoin {
  LearnerId learner;
  Incarnation incarnation;
  std::string message;
};

struct SendCommunity {
  LearnerId learner;
  Incarnation incarnation;
  Version version;
  ModelPtr model;
  uint64_t committed_steps = 0;  // S_c, from which the learner's staleness counts
  Sequence answers;              // the learner's update that this answers; 0: none
  bool restart = false;          // drop the training under way and start from this model
};

// The update is durable: it will be committed or refused by name, and need not be sent again.
struct AcknowledgeUpdate {
  UpdateId id;
};

struct RejectUpdate {
  UpdateId id;
  RejectReason reason = RejectReason::kGate;
  std::string message;
};

struct RequestEvaluation {
  LearnerId evaluator;
  Incarnation incarnation;
  UpdateId update;
  ModelPtr model;
};

struct CancelEvaluation {
  LearnerId evaluator;
  Incarnation incarnation;
  UpdateId update;
};

struct RequestTest {
  LearnerId observer;
  Incarnation incarnation;
  Version version;
  ModelPtr model;
};

// S_c, in answer to an epoch's end.
struct ReportSteps {
  LearnerId learner;
  Incarnation incarnation;
  uint64_t committed_steps = 0;
};

// The federation is over, or this participant has no place in it.
struct Dismiss {
  LearnerId learner;
  Incarnation incarnation;
  std::string reason;
};

// --- To the driver itself
// ------------------------------------------------------------------------------

struct StartTimer {
  TimerId timer;
  Instant due;
};

// --- Notes for the record
// ------------------------------------------------------------------------------

struct CommittedUpdate {
  UpdateId id;
  double contribution = 0;     // p_k; FedAsync: the mixing weight
  double coverage = 1;         // of the asked evaluators' examples that were pooled
  bool kept_previous = false;  // coverage was too small: p_k is the previous one
  uint64_t steps = 0;
  uint64_t staleness = 0;          // effective, in steps
  uint64_t version_staleness = 0;  // versions committed since its base
  CycleRecord cycle;
};

struct CommunityCommitted {
  Version version;
  std::vector<CommittedUpdate> updates;
  std::optional<LearnerId> withdrawn;  // set instead of updates
  double total_contribution = 0;       // P
  uint64_t committed_steps = 0;        // S_c after this commit
  ModelPtr model;
};

// Counts that contradict what the evaluator declared; it is not waited for.
struct RefuseCounts {
  LearnerId evaluator;
  UpdateId update;
  std::string message;
};

struct StateChanged {
  Phase phase = Phase::kWaiting;
  std::string reason;
};

struct Finished {
  StopReason reason = StopReason::kDuration;
  Version version;
};

using Action = std::variant<AcceptJoin, RefuseJoin, SendCommunity, AcknowledgeUpdate, RejectUpdate,
                            RequestEvaluation, CancelEvaluation, RequestTest, ReportSteps, Dismiss,
                            StartTimer, CommunityCommitted, RefuseCounts, StateChanged, Finished>;

template <typename A>
void Fields(A& archive, CommittedUpdate& update) {
  archive("id", update.id);
  archive("contribution", update.contribution);
  archive("coverage", update.coverage);
  archive("kept_previous", update.kept_previous);
  archive("steps", update.steps);
  archive("staleness", update.staleness);
  archive("version_staleness", update.version_staleness);
  archive("cycle", update.cycle);
}

template <typename A>
void Fields(A& archive, RefuseJoin& note) {
  archive("learner", note.learner);
  archive("incarnation", note.incarnation);
  archive("message", note.message);
}

template <typename A>
void Fields(A& archive, RejectUpdate& note) {
  archive("id", note.id);
  archive("reason", note.reason);
  archive("message", note.message);
}

template <typename A>
void Fields(A& archive, CommunityCommitted& note) {
  archive("version", note.version);
  archive("updates", note.updates);
  archive("withdrawn", note.withdrawn);
  archive("total_contribution", note.total_contribution);
  archive("committed_steps", note.committed_steps);
  archive("model", note.model);
}

template <typename A>
void Fields(A& archive, RefuseCounts& note) {
  archive("evaluator", note.evaluator);
  archive("update", note.update);
  archive("message", note.message);
}

template <typename A>
void Fields(A& archive, StateChanged& note) {
  archive("phase", note.phase);
  archive("reason", note.reason);
}

template <typename A>
void Fields(A& archive, Finished& note) {
  archive("reason", note.reason);
  archive("version", note.version);
}

}  // namespace metis::federation
