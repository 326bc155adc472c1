#include "metis/federation/learner_session.h"

#include <algorithm>

#include "metis/core/check.h"
#include "metis/core/random.h"
#include "metis/federation/part.h"

namespace metis::federation {

LearnerSession::LearnerSession(const Settings& settings, LearnerJoined declared, uint64_t seed)
    : settings_(settings),
      declared_(std::move(declared)),
      seed_(seed),
      cycle_(settings.policy.trigger->make(settings, declared_.group)) {}

void LearnerSession::Start(Instant now, Out& out) {
  METIS_CHECK(state_ == State::kNew);
  out.push_back(SendToController{declared_});
  Await(now, State::kJoining, out);
}

bool LearnerSession::ForThisLife(Incarnation incarnation) const {
  return incarnation == declared_.incarnation && state_ != State::kEnded;
}

void LearnerSession::Handle(Instant now, const AcceptJoin& message, Out& out) {
  if (!ForThisLife(message.incarnation) || state_ != State::kJoining) return;
  if (unacknowledged_) out.push_back(SendToController{*unacknowledged_});
  Await(now, unacknowledged_ ? State::kSending : State::kWaiting, out);
}

void LearnerSession::Handle(Instant, const RefuseJoin& message, Out& out) {
  if (!ForThisLife(message.incarnation) || state_ != State::kJoining) return;
  state_ = State::kEnded;
  out.push_back(Ended{message.message});
}

// The first model of this life, or since the controller forgot; the answer to its latest update; or
// a newer one that it is told to restart from. Anything else is a repeated or overtaken message. An
// answer to an update whose verdict is known is never older than the base, unless the controller
// was restored from an older copy, and the message that said so was lost.
bool LearnerSession::Adopts(const SendCommunity& message) const {
  if (!ForThisLife(message.incarnation) || state_ == State::kNew) return false;
  if (!base_) return true;
  if (message.restart && message.version > *base_) return true;
  if (message.answers != sequence_) return false;
  return state_ == State::kWaiting || (state_ == State::kSending && message.version >= *base_);
}

void LearnerSession::Handle(Instant, const SendCommunity& message, Out& out) {
  if (!Adopts(message)) return;
  state_ = State::kTraining;
  unacknowledged_.reset();
  base_ = message.version;
  steps_at_base_ = message.committed_steps;
  committed_steps_ = message.committed_steps;
  own_steps_ = 0;
  epoch_ = 0;
  out.push_back(LoadModel{message.model, ++cycles_begun_});
}

void LearnerSession::ModelLoaded(Instant, uint64_t cycle, double validation_loss, Out& out) {
  if (state_ != State::kTraining || cycle != cycles_begun_ || epoch_ != 0) return;
  cycle_.Begin(validation_loss);
  epoch_ = 1;
  out.push_back(TrainEpoch{cycle, epoch_});
}

void LearnerSession::EpochTrained(Instant, uint64_t cycle, uint64_t epoch, uint64_t steps,
                                  double validation_loss, Out& out) {
  if (state_ != State::kTraining || cycle != cycles_begun_ || epoch != epoch_) return;
  own_steps_ += steps;
  ++epoch_;
  out.push_back(
      SendToController{EpochReported{declared_.learner, declared_.incarnation, cycle, epoch}});
  uint64_t staleness = committed_steps_ - steps_at_base_ + own_steps_;
  if (cycle_.EpochEnded(validation_loss, staleness)) {
    out.push_back(TakeModel{cycle});
  } else {
    out.push_back(TrainEpoch{cycle, epoch_});
  }
}

void LearnerSession::ModelTaken(Instant now, uint64_t cycle, ModelPtr model, Statistics own_counts,
                                Out& out) {
  if (state_ != State::kTraining || cycle != cycles_begun_) return;
  sequence_ = sequence_.Next();
  UpdateReceived update;
  update.id = {declared_.learner, declared_.incarnation, sequence_};
  update.base = *base_;
  update.steps = own_steps_;
  update.model = std::move(model);
  update.own_counts = std::move(own_counts);
  update.cycle = cycle_.record();
  unacknowledged_ = std::move(update);
  out.push_back(SendToController{*unacknowledged_});
  Await(now, State::kSending, out);
}

void LearnerSession::Handle(Instant now, const AcknowledgeUpdate& message, Out& out) {
  bool ours = ForThisLife(message.id.incarnation) && message.id.sequence == sequence_;
  if (!ours || state_ != State::kSending) return;
  unacknowledged_.reset();
  Await(now, State::kWaiting, out);
}

void LearnerSession::Handle(Instant now, const RejectUpdate& message, Out& out) {
  bool ours = ForThisLife(message.id.incarnation) && message.id.sequence == sequence_;
  if (!ours || (state_ != State::kSending && state_ != State::kWaiting)) return;
  if (message.reason == RejectReason::kStaleIncarnation) {
    state_ = State::kEnded;
    out.push_back(Ended{message.message});
  } else if (message.reason == RejectReason::kUnknownLearner) {
    // The update was not looked at: it is sent again as soon as the controller knows its learner.
    out.push_back(SendToController{declared_});
    Await(now, State::kJoining, out);
  } else {
    // A controller that was restored from an older copy of its state does not know what it sent us:
    // any model of its is then a beginning.
    bool forgotten = message.reason == RejectReason::kUnknownUpdate ||
                     message.reason == RejectReason::kUnknownBase;
    if (forgotten) base_.reset();
    unacknowledged_.reset();
    Await(now, State::kWaiting, out);
  }
}

void LearnerSession::Handle(Instant, const ReportSteps& message, Out&) {
  if (!ForThisLife(message.incarnation)) return;
  committed_steps_ = std::max(committed_steps_, message.committed_steps);
}

void LearnerSession::Handle(Instant, const Dismiss& message, Out& out) {
  if (!ForThisLife(message.incarnation)) return;
  state_ = State::kEnded;
  out.push_back(Ended{message.reason});
}

void LearnerSession::Await(Instant now, State state, Out& out) {
  state_ = state;
  attempt_ = 0;
  AskAgainLater(now, out);
}

void LearnerSession::AskAgainLater(Instant now, Out& out) {
  // Doubles up to 16 times; the jitter keeps a thousand learners from asking at the same moment.
  int64_t factor = int64_t{1} << std::min(attempt_++, 4u);
  Random jitter({.seed = seed_,
                 .learner = declared_.learner.value(),
                 .cycle = declared_.incarnation.value(),
                 .epoch = retries_++,
                 .purpose = Purpose::kRetryJitter});
  double stretched = (factor * settings_.retry).seconds() * jitter.Uniform(0.75, 1.25);
  out.push_back(StartRetry{now + Duration::FromSeconds(stretched)});
}

void LearnerSession::RetryDue(Instant now, Out& out) {
  switch (state_) {
    case State::kJoining:
      out.push_back(SendToController{declared_});
      break;
    case State::kSending:
      out.push_back(SendToController{*unacknowledged_});
      break;
    case State::kWaiting:
      out.push_back(SendToController{
          CommunityRequested{declared_.learner, declared_.incarnation, sequence_}});
      break;
    case State::kNew:
    case State::kTraining:
    case State::kEnded:
      return;
  }
  AskAgainLater(now, out);
}

}  // namespace metis::federation
