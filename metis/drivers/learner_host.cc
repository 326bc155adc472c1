#include "metis/drivers/learner_host.h"

#include <limits>
#include <utility>

#include "metis/core/planted.h"
#include "metis/core/text.h"
#include "metis/federation/part.h"

namespace metis::drivers {

using federation::LearnerSession;
using federation::SessionAction;
using work::Kind;
using work::Work;
using work::WorkResult;

namespace {

constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

bool WatchesLoss(const LearnerHostOptions& options) {
  return options.settings.policy.trigger->watches_loss && options.evaluates;
}

std::string StateText(LearnerSession::State state) {
  switch (state) {
    case LearnerSession::State::kNew:
      return "starting";
    case LearnerSession::State::kJoining:
      return "joining";
    case LearnerSession::State::kWaiting:
      return "waiting for a community model";
    case LearnerSession::State::kTraining:
      return "training";
    case LearnerSession::State::kSending:
      return "sending its update";
    case LearnerSession::State::kEnded:
      break;
  }
  return "ended";
}

}  // namespace

LearnerHost::LearnerHost(LearnerHostOptions options, Loop& loop, work::Worker& worker,
                         ParticipantTransport& transport, Say say)
    : options_(std::move(options)),
      loop_(loop),
      worker_(worker),
      transport_(transport),
      say_(std::move(say)),
      watches_loss_(WatchesLoss(options_)),
      session_(options_.settings, options_.declared, options_.seed) {}

template <typename... Parts>
void LearnerHost::Tell(const Parts&... parts) {
  if (say_) say_(Text(parts...));
}

template <typename F>
void LearnerHost::Note(F change) {
  std::scoped_lock lock(progress_mutex_);
  change(progress_);
  shown_ = over_ ? LearnerSession::State::kEnded : session_.state();
}

template <typename T>
void LearnerHost::Hear(const T& message, Out& out) {
  if constexpr (requires { session_.Handle(loop_.now(), message, out); }) {
    session_.Handle(loop_.now(), message, out);
  }
}

// --- From outside

void LearnerHost::Start() {
  loop_.Post([this] { DoStart(); });
}

void LearnerHost::Receive(federation::Action message) {
  loop_.Post([this, message = std::move(message)] { Handle(message); });
}

void LearnerHost::Leave() {
  loop_.Post([this] { DoLeave(); });
}

void LearnerHost::Reconnected() {
  if (!Planted(PlantedBug::kDroppedOnReconnect)) return;  // it asks again by itself
  loop_.Post([this] {
    if (evaluations_.size() > 1) evaluations_.resize(1);
  });
}

LearnerProgress LearnerHost::progress() const {
  std::scoped_lock lock(progress_mutex_);
  LearnerProgress seen = progress_;
  seen.state = StateText(shown_);
  return seen;
}

// --- The life of a learner

void LearnerHost::DoStart() {
  if (over_) return;
  Out actions;
  session_.Start(loop_.now(), actions);
  Perform(actions);
}

void LearnerHost::DoLeave() {
  if (over_) return;
  transport_.Send(federation::LearnerLeft{self(), life()});
  Finish(std::string("left the federation"));
}

void LearnerHost::Finish(Result<std::string> how) {
  if (over_) return;
  over_ = true;
  StopTraining();
  if (evaluating_) worker_.Abandon(*std::exchange(evaluating_, std::nullopt));
  evaluations_.clear();
  Note([](LearnerProgress&) {});
  if (options_.on_end) options_.on_end(std::move(how));
}

// --- The controller's messages

void LearnerHost::Handle(const federation::Action& message) {
  if (over_) return;
  at_fault_ = false;
  Out actions;
  std::visit(
      [&](const auto& content) {
        if constexpr (requires { content.id.incarnation; }) {
          if (content.id.incarnation == life()) Hear(content, actions);
        } else if constexpr (requires { content.incarnation; }) {
          const bool for_any_life = Planted(PlantedBug::kEarlierLifeAnswered);
          if (content.incarnation == life() || for_any_life) Hear(content, actions);
        }
      },
      message);
  Perform(actions);
}

void LearnerHost::Hear(const federation::AcceptJoin& message, Out& out) {
  if (session_.state() == LearnerSession::State::kJoining) {
    Tell("accepted by the controller (learner ", self(), ", incarnation ", life(), ")");
  }
  session_.Handle(loop_.now(), message, out);
}

void LearnerHost::Hear(const federation::RefuseJoin& message, Out& out) {
  at_fault_ = true;
  session_.Handle(loop_.now(), message, out);
}

void LearnerHost::Hear(const federation::SendCommunity& message, Out& out) {
  const bool sending = session_.state() == LearnerSession::State::kSending;
  session_.Handle(loop_.now(), message, out);
  if (out.empty()) return;  // repeated or overtaken
  // The answer to an update is as good as its acknowledgement.
  const bool answered = sending && message.answers == Sequence(session_.updates_sent());
  if (answered) Acknowledged(message.answers);
  Note([&](LearnerProgress& seen) { seen.version = message.version.value(); });
  Tell("trains from version ", message.version);
}

void LearnerHost::Hear(const federation::AcknowledgeUpdate& message, Out& out) {
  session_.Handle(loop_.now(), message, out);
  if (!out.empty()) Acknowledged(message.id.sequence);
}

// From now on the controller answers for it. With the incarnation said on joining, the words name
// the update in the controller's record.
void LearnerHost::Acknowledged(Sequence update) {
  Note([](LearnerProgress& seen) { ++seen.updates_acknowledged; });
  Tell("update ", update, " is acknowledged");
}

void LearnerHost::Hear(const federation::RejectUpdate& message, Out& out) {
  at_fault_ = message.reason == federation::RejectReason::kStaleIncarnation;
  session_.Handle(loop_.now(), message, out);
  const bool looked_at = message.reason != federation::RejectReason::kUnknownLearner;
  if (out.empty() || !looked_at || message.id.sequence <= refused_) return;
  refused_ = message.id.sequence;
  Note([](LearnerProgress& seen) { ++seen.updates_refused; });
  Tell("update ", message.id.sequence, " was refused: ", message.message);
}

// --- What the session asks for

void LearnerHost::Perform(const Out& actions) {
  for (const SessionAction& action : actions) {
    if (over_) return;
    std::visit([this](const auto& content) { Do(content); }, action);
  }
  if (!over_ && !actions.empty()) Note([](LearnerProgress&) {});
}

void LearnerHost::Do(const federation::SendToController& action) {
  std::visit([this](const auto& message) { transport_.Send(message); }, action.message);
}

void LearnerHost::StopTraining() {
  if (training_) worker_.Abandon(*std::exchange(training_, std::nullopt));
}

void LearnerHost::Train(Work work, std::function<void(WorkResult&, Out&)> use) {
  work.who = self().value();
  training_ =
      worker_.Start(std::move(work), [this, use = std::move(use)](Result<WorkResult> result) {
        training_.reset();
        if (over_) return;
        if (!result) return Finish(result.error().In("training failed"));
        Out actions;
        use(*result, actions);
        Perform(actions);
      });
}

void LearnerHost::Do(const federation::LoadModel& action) {
  StopTraining();
  received_ = action.model;
  own_.reset();
  if (!options_.keeps_state) state_ = {};
  Note([&](LearnerProgress& seen) {
    seen.cycle = action.cycle;
    seen.epoch = 0;
  });
  const uint64_t cycle = action.cycle;
  if (!watches_loss_) {
    loop_.Post([this, cycle] {
      if (over_) return;
      Out actions;
      session_.ModelLoaded(loop_.now(), cycle, kNoLoss, actions);
      Perform(actions);
    });
    return;
  }
  Work evaluation;
  evaluation.kind = Kind::kEvaluation;
  evaluation.model = received_;
  Train(std::move(evaluation), [this, cycle](WorkResult& result, Out& out) {
    session_.ModelLoaded(loop_.now(), cycle, result.evaluation->loss, out);
  });
}

void LearnerHost::Do(const federation::TrainEpoch& action) {
  Work epoch;
  epoch.kind = Kind::kEpoch;
  epoch.model = received_;
  epoch.state = state_;
  epoch.cycle = action.cycle;
  epoch.epoch = action.epoch;
  epoch.evaluate = watches_loss_;
  Train(std::move(epoch), [this, action](WorkResult& result, Out& out) {
    state_ = std::move(result.state);
    own_ = std::move(result.evaluation);
    Note([&](LearnerProgress& seen) {
      seen.epoch = action.epoch;
      seen.examples_trained += result.examples;
      seen.training_loss = result.training_loss;
    });
    session_.EpochTrained(loop_.now(), action.cycle, action.epoch, result.steps,
                          own_ ? own_->loss : kNoLoss, out);
    if (!options_.on_epoch || out.empty()) return;
    bool asks = false;
    for (const SessionAction& each : out) {
      asks |= std::holds_alternative<federation::TakeModel>(each);
    }
    options_.on_epoch(session_.cycle().record(), asks);
  });
}

void LearnerHost::Do(const federation::TakeModel& action) {
  Work model;
  model.kind = Kind::kModel;
  model.model = received_;
  model.state = state_;
  model.cycle = action.cycle;
  model.epoch = session_.cycle().record().epochs;
  model.evaluate = options_.evaluates && !own_;
  Train(std::move(model), [this, action](WorkResult& result, Out& out) {
    if (result.evaluation) own_ = std::move(result.evaluation);
    state_ = options_.keeps_state ? std::move(result.state) : work::LearnerState();
    received_.reset();
    session_.ModelTaken(loop_.now(), action.cycle, std::move(result.model),
                        own_ ? std::move(own_->counts) : Statistics(), out);
  });
}

void LearnerHost::Do(const federation::StartRetry& action) {
  const bool lost = Planted(PlantedBug::kRetryLost) && retry_ % 3 == 2;
  loop_.At(action.due, [this, retry = ++retry_, lost] {
    if (over_ || retry != retry_ || lost) return;  // replaced by a later one
    Out actions;
    session_.RetryDue(loop_.now(), actions);
    Perform(actions);
  });
}

void LearnerHost::Do(const federation::Ended& action) {
  Finish(at_fault_ ? Result<std::string>(Invalid(action.reason)) : action.reason);
}

// --- Other learners' models

void LearnerHost::Hear(const federation::RequestEvaluation& request, Out&) {
  if (!options_.evaluates) {
    transport_.Send(federation::EvaluationFailed{self(), life(), request.update});
    return;
  }
  for (const federation::RequestEvaluation& queued : evaluations_) {
    if (queued.update == request.update) return;
  }
  evaluations_.push_back(request);
  if (evaluations_.size() == 1) BeginEvaluation();
}

void LearnerHost::Hear(const federation::CancelEvaluation& cancel, Out&) {
  // The one under way runs to its end; its answer comes too late and is ignored.
  for (size_t i = 1; i < evaluations_.size(); ++i) {
    if (evaluations_[i].update != cancel.update) continue;
    evaluations_.erase(evaluations_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void LearnerHost::BeginEvaluation() {
  Work evaluation;
  evaluation.kind = Kind::kEvaluation;
  evaluation.who = self().value();
  evaluation.model = evaluations_.front().model;
  evaluating_ = worker_.Start(std::move(evaluation), [this](Result<WorkResult> result) {
    evaluating_.reset();
    if (!over_) EvaluationDone(std::move(result));
  });
}

void LearnerHost::EvaluationDone(Result<WorkResult> result) {
  const federation::UpdateId update = evaluations_.front().update;
  evaluations_.pop_front();
  if (result) {
    Note([](LearnerProgress& seen) { ++seen.models_evaluated; });
    transport_.Send(
        federation::CountsReceived{self(), life(), update, std::move(result->evaluation->counts)});
  } else {
    Tell("can't evaluate the update of learner ", update.learner, ": ", result.error().message);
    transport_.Send(federation::EvaluationFailed{self(), life(), update});
  }
  if (!evaluations_.empty()) BeginEvaluation();
}

}  // namespace metis::drivers
