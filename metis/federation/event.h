// What can happen to a federation: the controller's only input (with the time at which it
// happened). Every event is recorded, and the record is the truth: folding the events again gives
// the same state. Fields() describes each one once, for logs, snapshots and the JSON record alike.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/statistics.h"

namespace metis::federation {

// Names an update for ever: a repeated one is recognised by it.
struct UpdateId {
  LearnerId learner;
  Incarnation incarnation;
  Sequence sequence;

  friend auto operator<=>(const UpdateId&, const UpdateId&) = default;
};

enum class Role { kLearner, kObserver };
constexpr auto EnumNames(Role) { return std::array<std::string_view, 2>{"learner", "observer"}; }

// Why a validation cycle ended: after its uf epochs, or by a criterion of the adaptive trigger.
enum class CycleReason { kEpochs, kC1, kC2, kC3, kMaxEpochs };
constexpr auto EnumNames(CycleReason) {
  return std::array<std::string_view, 5>{"epochs", "C1", "C2", "C3", "max-epochs"};
}

// One validation cycle of a learner, from the model it received to its update request.
struct CycleRecord {
  uint64_t cycle = 0;  // from 1
  uint64_t epochs = 0;
  std::vector<double>
      losses;  // VLoss_0 of the received model, then one an epoch; empty without validation
  uint64_t failures = 0;
  CycleReason reason = CycleReason::kEpochs;
  uint64_t staleness = 0;  // effective staleness as the learner saw it

  friend bool operator==(const CycleRecord&, const CycleRecord&) = default;
};

// A participant says who it is. The same incarnation again is a repeated message; a greater one is
// a new life.
struct LearnerJoined {
  LearnerId learner;
  Incarnation incarnation;
  Role role = Role::kLearner;
  std::string name;
  std::string group;
  uint64_t training_examples = 0;
  Declared validation_counts;  // what it evaluates on; none without a validation set
  uint64_t schema_hash = 0;
};

// Unheard of for too long, or its connection broke. It may return.
struct LearnerLost {
  LearnerId learner;
  Incarnation incarnation;
};

// Heard of again, in the same life.
struct LearnerReturned {
  LearnerId learner;
  Incarnation incarnation;
};

// Says goodbye. Its contribution stays; no one waits for it.
struct LearnerLeft {
  LearnerId learner;
  Incarnation incarnation;
};

// The end of a local epoch: asks for the committed steps S_c.
struct EpochReported {
  LearnerId learner;
  Incarnation incarnation;
  uint64_t cycle = 0;
  uint64_t epoch = 0;
};

struct UpdateReceived {
  UpdateId id;
  Version base;        // the community version it was trained from
  uint64_t steps = 0;  // mini-batches since
  ModelPtr model;
  Statistics own_counts;  // on the learner's own validation set; none without one
  CycleRecord cycle;
};

// A learner that waits for a community model asks again.
struct CommunityRequested {
  LearnerId learner;
  Incarnation incarnation;
  Sequence last_sent;  // its latest update; 0 before the first
};

struct CountsReceived {
  LearnerId evaluator;
  Incarnation incarnation;
  UpdateId update;
  Statistics counts;
};

// The evaluator can't: it is no longer waited for.
struct EvaluationFailed {
  LearnerId evaluator;
  Incarnation incarnation;
  UpdateId update;
};

// An observer's test of a community model.
struct CommunityTested {
  LearnerId observer;
  Incarnation incarnation;
  Version version;
  Statistics counts;
  double loss = 0;
};

struct OperatorCommand {
  enum class Kind { kPause, kResume, kStop, kWithdraw };
  Kind kind = Kind::kPause;
  LearnerId learner;  // of a withdrawal
};
constexpr auto EnumNames(OperatorCommand::Kind) {
  return std::array<std::string_view, 4>{"pause", "resume", "stop", "withdraw"};
}

// Timers are named by what they are for, so that a stale one is recognised when it fires.
struct TimerId {
  enum class Kind { kDuration, kTest, kRound, kEvaluation, kLease };
  Kind kind = Kind::kDuration;
  uint64_t subject = 0;  // the round, the update's place in arrival order, or the learner

  friend auto operator<=>(const TimerId&, const TimerId&) = default;
};
constexpr auto EnumNames(TimerId::Kind) {
  return std::array<std::string_view, 5>{"duration", "test", "round", "evaluation", "lease"};
}

struct TimerFired {
  TimerId timer;
};

using Event = std::variant<LearnerJoined, LearnerLost, LearnerReturned, LearnerLeft, EpochReported,
                           UpdateReceived, CommunityRequested, CountsReceived, EvaluationFailed,
                           CommunityTested, OperatorCommand, TimerFired>;

// In the order of Event's alternatives.
inline constexpr std::array<std::string_view, std::variant_size_v<Event>> kEventNames = {
    "joined",    "lost",   "returned",          "left",   "epoch",   "update",
    "requested", "counts", "evaluation-failed", "tested", "command", "timer"};

template <typename A>
void Fields(A& archive, UpdateId& id) {
  archive("learner", id.learner);
  archive("incarnation", id.incarnation);
  archive("sequence", id.sequence);
}

template <typename A>
void Fields(A& archive, CycleRecord& record) {
  archive("cycle", record.cycle);
  archive("epochs", record.epochs);
  archive("losses", record.losses);
  archive("failures", record.failures);
  archive("reason", record.reason);
  archive("staleness", record.staleness);
}

template <typename A>
void Fields(A& archive, LearnerJoined& event) {
  archive("learner", event.learner);
  archive("incarnation", event.incarnation);
  archive("role", event.role);
  archive("name", event.name);
  archive("group", event.group);
  archive("training_examples", event.training_examples);
  archive("validation_counts", event.validation_counts);
  archive("schema_hash", event.schema_hash);
}

// Lost, returned and left say who, and nothing else.
template <typename A, typename T>
requires std::same_as<T, LearnerLost> || std::same_as<T, LearnerReturned> ||
    std::same_as<T, LearnerLeft>
void Fields(A& archive, T& event) {
  archive("learner", event.learner);
  archive("incarnation", event.incarnation);
}

template <typename A>
void Fields(A& archive, EpochReported& event) {
  archive("learner", event.learner);
  archive("incarnation", event.incarnation);
  archive("cycle", event.cycle);
  archive("epoch", event.epoch);
}

template <typename A>
void Fields(A& archive, UpdateReceived& event) {
  archive("id", event.id);
  archive("base", event.base);
  archive("steps", event.steps);
  archive("model", event.model);
  archive("own_counts", event.own_counts);
  archive("cycle", event.cycle);
}

template <typename A>
void Fields(A& archive, CommunityRequested& event) {
  archive("learner", event.learner);
  archive("incarnation", event.incarnation);
  archive("last_sent", event.last_sent);
}

template <typename A>
void Fields(A& archive, CountsReceived& event) {
  archive("evaluator", event.evaluator);
  archive("incarnation", event.incarnation);
  archive("update", event.update);
  archive("counts", event.counts);
}

template <typename A>
void Fields(A& archive, EvaluationFailed& event) {
  archive("evaluator", event.evaluator);
  archive("incarnation", event.incarnation);
  archive("update", event.update);
}

template <typename A>
void Fields(A& archive, CommunityTested& event) {
  archive("observer", event.observer);
  archive("incarnation", event.incarnation);
  archive("version", event.version);
  archive("counts", event.counts);
  archive("loss", event.loss);
}

template <typename A>
void Fields(A& archive, OperatorCommand& event) {
  archive("kind", event.kind);
  archive("learner", event.learner);
}

template <typename A>
void Fields(A& archive, TimerId& timer) {
  archive("kind", timer.kind);
  archive("subject", timer.subject);
}

template <typename A>
void Fields(A& archive, TimerFired& event) {
  archive("timer", event.timer);
}

}  // namespace metis::federation
