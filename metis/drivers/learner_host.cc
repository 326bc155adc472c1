#include "metis/drivers/learner_host.h"

#include <deque>
#include <mutex>
#include <type_traits>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/drivers/ending.h"
#include "metis/drivers/event_loop.h"
#include "metis/drivers/training_thread.h"
#include "metis/federation/part.h"

namespace metis::drivers {

using federation::LearnerSession;
using federation::SessionAction;

namespace {

bool WatchesLoss(const federation::Settings& settings) {
  return settings.policy.trigger->watches_loss;
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

// Everything below is the loop's, except where it says otherwise.
struct LearnerHost::State {
  State(LearnerHostOptions given, LearnerTools tools, ParticipantTransport& to, Say tell)
      : options(std::move(given)),
        transport(to),
        say(std::move(tell)),
        session(options.settings, options.declared, options.seed),
        training(std::move(tools.trainer), std::move(tools.own), WatchesLoss(options.settings),
                 options.slowdown),
        evaluator(std::move(tools.of_others)) {}

  ~State() {
    loop.Stop();  // gives no more work
    training.Abandon();
    evaluating.Stop();
  }

  LearnerId self() const { return options.declared.learner; }
  Incarnation life() const { return options.declared.incarnation; }

  void Begin();
  void Leave();
  void Handle(const federation::Action& message);
  void Hear(const federation::SendCommunity& message, std::vector<SessionAction>& out);
  void Hear(const federation::AcknowledgeUpdate& message, std::vector<SessionAction>& out);
  void Hear(const federation::RejectUpdate& message, std::vector<SessionAction>& out);
  void Hear(const federation::RefuseJoin& message, std::vector<SessionAction>& out);
  void Hear(const federation::AcceptJoin& message, std::vector<SessionAction>& out);
  void Acknowledged(Sequence update);
  template <typename T>
  void Hear(const T& message, std::vector<SessionAction>& out) {
    if constexpr (requires { session.Handle(loop.now(), message, out); }) {
      session.Handle(loop.now(), message, out);
    }
  }

  void Perform(std::vector<SessionAction> actions);
  void Do(const federation::SendToController& action);
  void Do(const federation::LoadModel& action);
  void Do(const federation::TrainEpoch& action);
  void Do(const federation::TakeModel& action);
  void Do(const federation::StartRetry& action);
  void Do(const federation::Ended& action);
  // What the training thread answers comes back to the loop; a failure ends the learner.
  template <typename T>
  TrainingThread::Answer<T> Back(std::function<void(T&, std::vector<SessionAction>&)> use);

  void Hear(const federation::RequestEvaluation& request, std::vector<SessionAction>& out);
  void Hear(const federation::CancelEvaluation& cancel, std::vector<SessionAction>& out);
  void BeginEvaluation();
  void EvaluationDone(Result<learner::Evaluation> evaluated);

  void Finish(Result<std::string> how);
  // Changes what the operator sees.
  template <typename F>
  void Note(F change) {
    std::scoped_lock lock(progress_mutex);
    change(progress);
    progress.state = over ? "ended" : StateText(session.state());
  }

  // --- Constant
  const LearnerHostOptions options;
  ParticipantTransport& transport;
  const Say say;

  // --- Synchronise themselves
  EventLoop loop;
  Ending ending;
  std::mutex progress_mutex;
  LearnerProgress progress;  // guarded by progress_mutex

  // --- The loop's
  LearnerSession session;
  bool over = false;
  bool at_fault = false;  // should the session end now: this learner has no place here
  uint64_t retry = 0;
  Sequence refused;                                       // the latest refused update
  std::deque<federation::RequestEvaluation> evaluations;  // the first one is under way

  // --- Threads of their own, fed by the loop; the evaluator is the evaluating thread's
  TrainingThread training;
  const std::unique_ptr<learner::Evaluator> evaluator;
  EventLoop evaluating;
};

// --- From outside

LearnerHost::LearnerHost(LearnerHostOptions options, LearnerTools tools,
                         ParticipantTransport& transport, Say say)
    : state_(std::make_unique<State>(
          std::move(options), std::move(tools), transport,
          say ? std::move(say) : [](const std::string&) {})) {}

LearnerHost::~LearnerHost() = default;

void LearnerHost::Start() {
  state_->training.Start();
  state_->evaluating.Start();
  state_->loop.Post([state = state_.get()] { state->Begin(); });
  state_->loop.Start();
}

void LearnerHost::Receive(federation::Action message) {
  state_->loop.Post(
      [state = state_.get(), message = std::move(message)] { state->Handle(message); });
}

LearnerProgress LearnerHost::progress() const {
  std::scoped_lock lock(state_->progress_mutex);
  return state_->progress;
}

void LearnerHost::Leave() {
  state_->loop.Post([state = state_.get()] { state->Leave(); });
}

Result<std::string> LearnerHost::Wait() { return state_->ending.Wait(); }

std::optional<Result<std::string>> LearnerHost::WaitFor(Duration longest) {
  return state_->ending.WaitFor(longest);
}

// --- The life of a learner

void LearnerHost::State::Begin() {
  if (over) return;
  std::vector<SessionAction> actions;
  session.Start(loop.now(), actions);
  Perform(std::move(actions));
}

void LearnerHost::State::Leave() {
  if (over) return;
  transport.Send(federation::LearnerLeft{self(), life()});
  Finish(std::string("left the federation"));
}

void LearnerHost::State::Finish(Result<std::string> how) {
  if (over) return;
  over = true;
  training.Abandon();
  // The one under way runs to its end; nobody hears of it.
  evaluations.clear();
  Note([](LearnerProgress&) {});
  ending.Set(std::move(how));
}

// --- The controller's messages

void LearnerHost::State::Handle(const federation::Action& message) {
  if (over) return;
  at_fault = false;
  std::vector<SessionAction> actions;
  std::visit(
      [&](const auto& content) {
        if constexpr (requires { content.id.incarnation; }) {
          if (content.id.incarnation == life()) Hear(content, actions);
        } else if constexpr (requires { content.incarnation; }) {
          if (content.incarnation == life()) Hear(content, actions);
        }
      },
      message);
  Perform(std::move(actions));
}

void LearnerHost::State::Hear(const federation::AcceptJoin& message,
                              std::vector<SessionAction>& out) {
  if (session.state() == LearnerSession::State::kJoining) {
    say(Text("accepted by the controller (learner ", self(), ", incarnation ", life(), ")"));
  }
  session.Handle(loop.now(), message, out);
}

void LearnerHost::State::Hear(const federation::RefuseJoin& message,
                              std::vector<SessionAction>& out) {
  at_fault = true;
  session.Handle(loop.now(), message, out);
}

void LearnerHost::State::Hear(const federation::SendCommunity& message,
                              std::vector<SessionAction>& out) {
  const bool sending = session.state() == LearnerSession::State::kSending;
  session.Handle(loop.now(), message, out);
  if (out.empty()) return;  // repeated or overtaken
  // The answer to an update is as good as its acknowledgement.
  const bool answered = sending && message.answers == Sequence(session.updates_sent());
  if (answered) Acknowledged(message.answers);
  Note([&](LearnerProgress& seen) { seen.version = message.version.value(); });
  say(Text("trains from version ", message.version));
}

void LearnerHost::State::Hear(const federation::AcknowledgeUpdate& message,
                              std::vector<SessionAction>& out) {
  session.Handle(loop.now(), message, out);
  if (!out.empty()) Acknowledged(message.id.sequence);
}

// From now on the controller answers for it. With the incarnation said on joining, the words name
// the update in the controller's record.
void LearnerHost::State::Acknowledged(Sequence update) {
  Note([](LearnerProgress& seen) { ++seen.updates_acknowledged; });
  say(Text("update ", update, " is acknowledged"));
}

void LearnerHost::State::Hear(const federation::RejectUpdate& message,
                              std::vector<SessionAction>& out) {
  at_fault = message.reason == federation::RejectReason::kStaleIncarnation;
  session.Handle(loop.now(), message, out);
  const bool looked_at = message.reason != federation::RejectReason::kUnknownLearner;
  if (out.empty() || !looked_at || message.id.sequence <= refused) return;
  refused = message.id.sequence;
  Note([](LearnerProgress& seen) { ++seen.updates_refused; });
  say(Text("update ", message.id.sequence, " was refused: ", message.message));
}

// --- What the session asks for

void LearnerHost::State::Perform(std::vector<SessionAction> actions) {
  for (const SessionAction& action : actions) {
    if (over) return;
    std::visit([this](const auto& content) { Do(content); }, action);
  }
  if (!over) Note([](LearnerProgress&) {});
}

void LearnerHost::State::Do(const federation::SendToController& action) {
  std::visit([this](const auto& message) { transport.Send(message); }, action.message);
}

template <typename T>
TrainingThread::Answer<T> LearnerHost::State::Back(
    std::function<void(T&, std::vector<SessionAction>&)> use) {
  return [this, use = std::move(use)](Result<T> outcome) {
    loop.Post([this, use, outcome = std::move(outcome)]() mutable {
      if (over) return;
      if (!outcome) return Finish(outcome.error().In("training failed"));
      std::vector<SessionAction> actions;
      use(*outcome, actions);
      Perform(std::move(actions));
    });
  };
}

void LearnerHost::State::Do(const federation::LoadModel& action) {
  Note([&](LearnerProgress& seen) {
    seen.cycle = action.cycle;
    seen.epoch = 0;
  });
  training.Load(action.model, Back<double>([this, cycle = action.cycle](double& loss, auto& out) {
                  session.ModelLoaded(loop.now(), cycle, loss, out);
                }));
}

void LearnerHost::State::Do(const federation::TrainEpoch& action) {
  training.Train({action.cycle, action.epoch},
                 Back<TrainingThread::Epoch>([this, action](auto& trained, auto& out) {
                   Note([&](LearnerProgress& seen) {
                     seen.epoch = action.epoch;
                     seen.examples_trained += trained.report.examples;
                     seen.training_loss = trained.report.training_loss;
                   });
                   session.EpochTrained(loop.now(), action.cycle, action.epoch,
                                        trained.report.steps, trained.validation_loss, out);
                 }));
}

void LearnerHost::State::Do(const federation::TakeModel& action) {
  training.Take(Back<TrainingThread::Taken>([this, cycle = action.cycle](auto& taken, auto& out) {
    session.ModelTaken(loop.now(), cycle, std::move(taken.model), std::move(taken.own_counts), out);
  }));
}

void LearnerHost::State::Do(const federation::StartRetry& action) {
  loop.At(action.due, [this, number = ++retry] {
    if (over || number != retry) return;  // replaced by a later one
    std::vector<SessionAction> actions;
    session.RetryDue(loop.now(), actions);
    Perform(std::move(actions));
  });
}

void LearnerHost::State::Do(const federation::Ended& action) {
  Finish(at_fault ? Result<std::string>(Invalid(action.reason)) : action.reason);
}

// --- Other learners' models

void LearnerHost::State::Hear(const federation::RequestEvaluation& request,
                              std::vector<SessionAction>&) {
  if (!evaluator) {
    transport.Send(federation::EvaluationFailed{self(), life(), request.update});
    return;
  }
  for (const federation::RequestEvaluation& queued : evaluations) {
    if (queued.update == request.update) return;
  }
  evaluations.push_back(request);
  if (evaluations.size() == 1) BeginEvaluation();
}

void LearnerHost::State::Hear(const federation::CancelEvaluation& cancel,
                              std::vector<SessionAction>&) {
  // The one under way runs to its end; its answer comes too late and is ignored.
  for (size_t i = 1; i < evaluations.size(); ++i) {
    if (evaluations[i].update != cancel.update) continue;
    evaluations.erase(evaluations.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void LearnerHost::State::BeginEvaluation() {
  evaluating.Post([this, model = evaluations.front().model] {
    Result<learner::Evaluation> evaluated = evaluator->Evaluate(*model);
    loop.Post([this, evaluated = std::move(evaluated)]() mutable {
      if (!over) EvaluationDone(std::move(evaluated));
    });
  });
}

void LearnerHost::State::EvaluationDone(Result<learner::Evaluation> evaluated) {
  const federation::UpdateId update = evaluations.front().update;
  evaluations.pop_front();
  if (evaluated) {
    Note([](LearnerProgress& seen) { ++seen.models_evaluated; });
    transport.Send(
        federation::CountsReceived{self(), life(), update, std::move(evaluated->counts)});
  } else {
    say(Text("can't evaluate the update of learner ", update.learner, ": ",
             evaluated.error().message));
    transport.Send(federation::EvaluationFailed{self(), life(), update});
  }
  if (!evaluations.empty()) BeginEvaluation();
}

}  // namespace metis::drivers
