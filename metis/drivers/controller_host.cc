#include "metis/drivers/controller_host.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "metis/core/planted.h"
#include "metis/core/text.h"
#include "metis/drivers/announcer.h"

namespace metis::drivers {
namespace {

using federation::Action;
using federation::Event;
using federation::Member;

// Whose event it is; empty for timers and commands.
std::optional<LearnerId> ParticipantOf(const Event& event) {
  return std::visit(
      [](const auto& content) -> std::optional<LearnerId> {
        if constexpr (requires { content.evaluator; }) {
          return content.evaluator;
        } else if constexpr (requires { content.observer; }) {
          return content.observer;
        } else if constexpr (requires { content.id.learner; }) {
          return content.id.learner;
        } else if constexpr (requires { content.incarnation; }) {
          return content.learner;
        } else {
          return std::nullopt;
        }
      },
      event);
}

}  // namespace

struct ControllerHost::State {
  using Watch = std::function<void(const federation::Controller&, const HostView&)>;

  State(std::unique_ptr<DurableController> opened, ControllerHostOptions& options, Loop& own,
        Recorder* record, Say words)
      : durable(std::move(opened)),
        membership(options.settings.membership),
        recorder(record),
        watch(std::move(options.watch)),
        on_handled(std::move(options.on_handled)),
        loop(own),
        on_failure(std::move(options.on_failure)),
        liveness(membership.silence) {
    if (words) announcer.emplace(durable->controller(), membership.silence, std::move(words));
    for (const auto& [learner, member] : controller().membership().all()) {
      names.emplace(member.declared.name, learner);
      next_id = std::max(next_id, learner.value() + 1);
    }
    if (Planted(PlantedBug::kIdGivenTwice)) next_id = static_cast<uint32_t>(names.size());
  }

  const federation::Controller& controller() const { return durable->controller(); }

  void Begin();
  void Heard(const FromParticipant& message);
  void PromiseAgain(LearnerId participant);
  void AskAgain();
  bool Process(const Event& event);
  void Recognise(const federation::UpdateReceived& update, const std::optional<Glimpse>& before);
  void Operate(federation::OperatorCommand::Kind kind, const std::string& name,
               const std::function<void(Result<Commanded>)>& answer);
  void Perform(const std::vector<Action>& actions);
  void Start(const federation::StartTimer& timer);
  void Fire(federation::TimerId timer);
  void CheckLiveness();
  void CheckSilent(Instant now);
  void CheckOver();
  void WaitForTests();
  void Over();
  void Show();
  void ShowInTime();
  LearnerId Identify(const std::string& name);

  // Constant after construction.
  const std::unique_ptr<DurableController> durable;  // what it points to is the loop's
  const federation::MembershipSettings membership;
  Recorder* const recorder;
  const Watch watch;
  const decltype(ControllerHostOptions::on_handled) on_handled;
  Loop& loop;

  // Owned by the loop.
  ControllerTransport* transport = nullptr;
  std::function<void(const std::string&)> on_failure;  // null once it was called
  std::optional<Announcer> announcer;                  // empty: nothing is said
  LivenessWatch liveness;
  Instant checked;  // when silence was last looked for
  std::map<std::string, LearnerId> names;
  uint32_t next_id = 0;
  std::map<LearnerId, Instant> heard;
  std::set<LearnerId> greeted;  // of a new conversation in which nothing was heard yet
  std::vector<std::function<void()>> when_over;
  bool refused = false;  // the log took no event since the last one that it took
  std::string refusal;   // its latest words
  bool news = false;     // since `shown`
  Instant shown;
  bool ending = false;  // finished, waiting for the last test
  bool over = false;

  // Synchronises itself.
  std::atomic<uint64_t> dropped = 0;
};

// --- Events and what follows from them

void ControllerHost::State::Begin() {
  const Instant now = loop.now();
  for (const auto& [learner, member] : controller().membership().all()) {
    if (member.live()) liveness.Heard(learner, member.incarnation(), now);
  }
  std::vector<Action> promised;
  controller().Resume(promised);
  Perform(promised);
  checked = now;
  CheckLiveness();
  CheckOver();
  if (!watch) return;
  Show();
  ShowInTime();
}

void ControllerHost::State::Heard(const FromParticipant& message) {
  if (durable->failed()) return;  // nothing that it would say is true
  heard[message.from] = loop.now();
  if (greeted.erase(message.from) > 0) PromiseAgain(message.from);
  if (message.event) Process(*message.event);
  if (liveness.Handled(message, controller().membership(), loop.now())) {
    Process(federation::LearnerReturned{message.from, message.incarnation});
  }
}

// What was sent while it was away was dropped: an evaluation that nobody does would hold all
// commits until its deadline, and a learner that does not know of the end would train on.
void ControllerHost::State::PromiseAgain(LearnerId participant) {
  if (Planted(PlantedBug::kPromiseNotRepeated)) return;
  std::vector<Action> promised;
  controller().Resume(promised);
  for (const Action& action : promised) {
    if (Addressee(action) == participant) transport->Send(participant, action);
  }
  const Member* member = controller().membership().Find(participant);
  const bool over = controller().phase() == federation::Phase::kFinished;
  if (!over || member == nullptr || (!member->trains() && controller().testing())) return;
  transport->Send(participant, federation::Dismiss{participant, member->incarnation(),
                                                   "the federation has finished"});
}

// Answers were dropped, and nobody repeats an answer: who owes one is asked again.
void ControllerHost::State::AskAgain() {
  std::vector<Action> promised;
  controller().Resume(promised);
  for (const Action& action : promised) {
    if (std::optional<LearnerId> to = Addressee(action)) transport->Send(*to, action);
  }
}

// False: the log refused it, and nothing has happened; or what came of it cannot be told
// (DurableController::failed()), and this host ends.
bool ControllerHost::State::Process(const Event& event) {
  const std::optional<LearnerId> participant = ParticipantOf(event);
  std::optional<Glimpse> before;
  if (participant) before = GlimpseOf(controller().membership().Find(*participant));
  const Instant now = loop.now();
  std::vector<Action> actions;
  if (Result<void> handled = durable->Handle(now, event, actions); !handled) {
    refusal = handled.error().message;
    if (durable->failed()) {
      if (auto tell = std::exchange(on_failure, nullptr)) tell(refusal);
      return false;
    }
    ++dropped;
    if (announcer) {
      announcer->Sometimes(now, Text("the log refuses events, this one is dropped (",
                                     federation::kEventNames[event.index()], "): ", refusal));
    }
    refused = true;
    return false;
  }
  if (recorder != nullptr) {
    recorder->Event(now, event);
    for (const Action& action : actions) recorder->Action(now, action);
  }
  if (on_handled) on_handled(now, event, actions);
  news = true;
  if (const auto* update = std::get_if<federation::UpdateReceived>(&event)) {
    Recognise(*update, before);
  }
  if (participant && announcer) announcer->Presence(*participant, before);
  Perform(actions);
  if (std::exchange(refused, false)) AskAgain();
  CheckOver();
  return true;
}

// A learner that waits for its answer says it again. Somebody who plays back what he overheard
// looks the same, so that it is written down.
void ControllerHost::State::Recognise(const federation::UpdateReceived& update,
                                      const std::optional<Glimpse>& before) {
  const federation::UpdateId& id = update.id;
  if (!before || before->incarnation != id.incarnation) return;
  if (id.sequence > before->sequence) return;
  transport->Refused(id.learner, "repeated",
                     Text("update ", id.sequence, " has come before: it is not counted again"));
}

void ControllerHost::State::Perform(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (announcer) announcer->Action(loop.now(), action);
    if (const auto* timer = std::get_if<federation::StartTimer>(&action)) {
      Start(*timer);
    } else if (const auto* counts = std::get_if<federation::RefuseCounts>(&action)) {
      transport->Refused(counts->evaluator, "forged-counts", counts->message);
    } else if (std::optional<LearnerId> to = Addressee(action)) {
      transport->Send(*to, action);
    }
  }
}

void ControllerHost::State::Start(const federation::StartTimer& timer) {
  loop.At(timer.due, [this, id = timer.timer] { Fire(id); });
}

// Nobody asks again for a timer: one that the log refuses is tried until it gets through.
void ControllerHost::State::Fire(federation::TimerId timer) {
  if (Process(federation::TimerFired{timer}) || Planted(PlantedBug::kTimerLost)) return;
  loop.At(loop.now() + controller().settings().retry, [this, timer] { Fire(timer); });
}

// --- Who is silent

void ControllerHost::State::CheckLiveness() {
  if (controller().phase() == federation::Phase::kFinished) return;
  loop.At(loop.now() + membership.heartbeat, [this] {
    CheckSilent(loop.now());
    CheckLiveness();
  });
}

void ControllerHost::State::CheckSilent(Instant now) {
  const Duration late = now - std::exchange(checked, now) - membership.heartbeat;
  const bool slept = late > std::min(membership.heartbeat, membership.silence) / 2;
  if (slept && !Planted(PlantedBug::kNoGrace)) {
    // We were not listening ourselves: suspended, or held up by a slow disk.
    liveness.Grace(now);
    return;
  }
  for (const LivenessWatch::Silent& silent : liveness.TakeSilent(now)) {
    const Member* member = controller().membership().Find(silent.learner);
    const bool there =
        member != nullptr && member->live() && member->incarnation() == silent.incarnation;
    if (!there || Process(federation::LearnerLost{silent.learner, silent.incarnation})) continue;
    liveness.Heard(silent.learner, silent.incarnation, now - membership.silence);  // try again
  }
}

// --- The end

void ControllerHost::State::CheckOver() {
  if (over || controller().phase() != federation::Phase::kFinished) return;
  if (!controller().testing()) return Over();
  if (!std::exchange(ending, true)) WaitForTests();
}

// As long as they come: an observer that is behind has up to three to do.
void ControllerHost::State::WaitForTests() {
  loop.At(loop.now() + membership.silence, [this, before = controller().tests().tests()] {
    const bool more = controller().testing() && controller().tests().tests() > before;
    more ? WaitForTests() : Over();
  });
}

void ControllerHost::State::Over() {
  if (std::exchange(over, true)) return;
  if (watch) Show();
  for (const std::function<void()>& done : std::exchange(when_over, {})) done();
}

// --- The operator

void ControllerHost::State::Operate(federation::OperatorCommand::Kind kind, const std::string& name,
                                    const std::function<void(Result<Commanded>)>& answer) {
  const auto ends = [this] {
    return Unavailable(Text("the controller ends, because it cannot read a model (", refusal,
                            "): look again once it was started anew"));
  };
  if (durable->failed()) return answer(ends());
  Result<CommandPlan> plan = PlanCommand(controller(), kind, name);
  if (!plan) return answer(plan.error());
  if (plan->command && Planted(PlantedBug::kAnsweredBeforeDurable)) {
    answer(Commanded{plan->message, controller().version()});
    Process(*plan->command);
    return;
  }
  if (plan->command && !Process(*plan->command)) {
    if (durable->failed()) return answer(ends());
    if (Planted(PlantedBug::kRefusedAnswered)) return answer(Commanded{});
    return answer(
        Unavailable(Text("nothing has changed, because the controller's log refuses "
                         "events: ",
                         refusal)));
  }
  if (watch) Show();
  if (plan->command) return answer(OutcomeOf(controller(), *plan->command));
  answer(Commanded{plan->message, controller().version()});
}

void ControllerHost::State::Show() {
  if (durable->failed()) return;
  news = false;
  shown = loop.now();
  watch(controller(), {shown, heard, dropped});
}

void ControllerHost::State::ShowInTime() {
  loop.At(loop.now() + kNewsAfter, [this] {
    if (news || loop.now() - shown >= kNewsAtLeast) Show();
    ShowInTime();
  });
}

LearnerId ControllerHost::State::Identify(const std::string& name) {
  auto [known, added] = names.emplace(name, LearnerId(next_id));
  if (added) ++next_id;
  greeted.insert(known->second);
  return known->second;
}

// --- The host

ControllerHost::ControllerHost(std::unique_ptr<DurableController> durable,
                               ControllerHostOptions options, Loop& loop, Recorder* recorder,
                               Say say)
    : state_(std::make_unique<State>(std::move(durable), options, loop, recorder, std::move(say))) {
}

ControllerHost::~ControllerHost() = default;

Result<std::unique_ptr<DurableController>> ControllerHost::Recover(ControllerHostOptions& options,
                                                                   ModelPool& pool, EventLog& log,
                                                                   Recorder* recorder) {
  return DurableController::Open(options.settings, std::move(options.initial), pool, log,
                                 {.snapshot_every = options.snapshot_every,
                                  .snapshot_bytes = options.snapshot_bytes,
                                  .store = std::move(options.store),
                                  .recorder = recorder,
                                  .before_event = std::move(options.before_event),
                                  .before_snapshot = std::move(options.before_snapshot)});
}

void ControllerHost::Begin(ControllerTransport& transport) {
  state_->transport = &transport;
  state_->Begin();
}

const federation::Controller& ControllerHost::controller() const { return state_->controller(); }

void ControllerHost::Receive(FromParticipant message, std::shared_ptr<void> ticket) {
  state_->loop.Post([state = state_.get(), message = std::move(message),
                     ticket = std::move(ticket)] { state->Heard(message); });
}

void ControllerHost::Command(federation::OperatorCommand command) {
  state_->loop.Post([state = state_.get(), command] { state->Process(command); });
}

void ControllerHost::Command(federation::OperatorCommand::Kind kind, std::string name,
                             std::function<void(Result<Commanded>)> answer) {
  state_->loop.Post([state = state_.get(), kind, name = std::move(name),
                     answer = std::move(answer)] { state->Operate(kind, name, answer); });
}

void ControllerHost::Look(std::function<void(const federation::Controller&, Instant now)> look) {
  state_->loop.Post([state = state_.get(), look = std::move(look)] {
    if (!state->durable->failed()) look(state->controller(), state->loop.now());
  });
}

Instant ControllerHost::now() const { return state_->loop.now(); }

void ControllerHost::Identify(const std::string& name, std::function<void(LearnerId)> answer) {
  state_->loop.Post(
      [state = state_.get(), name, answer = std::move(answer)] { answer(state->Identify(name)); });
}

void ControllerHost::OnFinished(std::function<void()> done) {
  state_->loop.Post([state = state_.get(), done = std::move(done)] {
    if (state->over) return done();
    state->when_over.push_back(done);
  });
}

uint64_t ControllerHost::dropped_events() const { return state_->dropped; }

}  // namespace metis::drivers
