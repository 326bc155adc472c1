// The learner's side of the conversation as a pure state machine: join, train from each community
// model until the trigger says ask, send the update until it is acknowledged, wait for the next
// model. It survives lost messages and an absent controller by asking again, with growing, jittered
// pauses.
//
// Evaluation of other learners' models runs beside it and does not pass through it. One thread owns
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/time.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/federation/settings.h"
#include "metis/federation/validation_cycle.h"

namespace metis::federation {

// --- What the session asks of its driver
// ---------------------------------------------------------------

// To the controller: one of these events.
using ToController = std::variant<LearnerJoined, EpochReported, UpdateReceived, CommunityRequested>;

struct SendToController {
  ToController message;
};
// Start from this model; answer with ModelLoaded. Whatever is being trained is dropped.
struct LoadModel {
  ModelPtr model;
  uint64_t cycle = 0;
};
// Train one epoch; answer with EpochTrained.
struct TrainEpoch {
  uint64_t cycle = 0;
  uint64_t epoch = 0;
};
// Take the local model as it is; answer with ModelTaken.
struct TakeModel {
  uint64_t cycle = 0;
};
// Call RetryDue() then; replaces the previous one.
struct StartRetry {
  Instant due;
};
// The session is over.
struct Ended {
  std::string reason;
};

using SessionAction =
    std::variant<SendToController, LoadModel, TrainEpoch, TakeModel, StartRetry, Ended>;

class LearnerSession {
 public:
  using Out = std::vector<SessionAction>;

  // `declared` names the learner, its life, group and data; `seed` keys the jitter of retries.
  LearnerSession(const Settings& settings, LearnerJoined declared, uint64_t seed);

  // --- What can happen to it: each appends what is to be done to `out`
  // --------------------------------
  void Start(Instant now, Out& out);
  void Handle(Instant now, const AcceptJoin& message, Out& out);
  void Handle(Instant now, const RefuseJoin& message, Out& out);
  void Handle(Instant now, const SendCommunity& message, Out& out);
  void Handle(Instant now, const AcknowledgeUpdate& message, Out& out);
  void Handle(Instant now, const RejectUpdate& message, Out& out);
  void Handle(Instant now, const ReportSteps& message, Out& out);
  void Handle(Instant now, const Dismiss& message, Out& out);

  // Answers of the driver; those of an abandoned cycle are ignored. Losses are on the learner's own
  // validation set, NaN where it has none.
  void ModelLoaded(Instant now, uint64_t cycle, double validation_loss, Out& out);
  void EpochTrained(Instant now, uint64_t cycle, uint64_t epoch, uint64_t steps,
                    double validation_loss, Out& out);
  void ModelTaken(Instant now, uint64_t cycle, ModelPtr model, Statistics own_counts, Out& out);
  void RetryDue(Instant now, Out& out);

  enum class State { kNew, kJoining, kWaiting, kTraining, kSending, kEnded };
  State state() const { return state_; }
  Incarnation incarnation() const { return declared_.incarnation; }
  const ValidationCycle& cycle() const { return cycle_; }
  uint64_t updates_sent() const { return sequence_.value(); }

 private:
  // Messages to an earlier life may still be on their way; none concerns this one.
  bool ForThisLife(Incarnation incarnation) const;
  bool Adopts(const SendCommunity& message) const;
  void AskAgainLater(Instant now, Out& out);
  // Enters a state in which an answer is awaited: the pauses begin small again.
  void Await(Instant now, State state, Out& out);

  const Settings settings_;
  const LearnerJoined declared_;
  const uint64_t seed_;

  State state_ = State::kNew;
  ValidationCycle cycle_;
  uint64_t cycles_begun_ = 0;
  uint64_t epoch_ = 0;
  Sequence sequence_;             // of the latest update
  std::optional<Version> base_;   // the version it trains from; empty: none
  uint64_t steps_at_base_ = 0;    // S_c that came with it
  uint64_t committed_steps_ = 0;  // S_c as last heard
  uint64_t own_steps_ = 0;
  std::optional<UpdateReceived> unacknowledged_;
  uint32_t attempt_ = 0;
  uint64_t retries_ = 0;
};

}  // namespace metis::federation
