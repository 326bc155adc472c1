#include "metis/sim/simulated_controller.h"

#include <algorithm>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/enum_name.h"
#include "metis/sim/unreliable_store.h"

namespace metis::sim {

using federation::Action;
using federation::Event;
using federation::OperatorCommand;

namespace {

bool CarriesModel(const Action& action) {
  return std::holds_alternative<federation::SendCommunity>(action) ||
         std::holds_alternative<federation::RequestEvaluation>(action) ||
         std::holds_alternative<federation::RequestTest>(action);
}

}  // namespace

// --- The disk

class SimulatedController::CrashingLog final : public drivers::EventLog {
 public:
  explicit CrashingLog(SimulatedController& owner) : owner_(owner) {}

  Result<void> Append(Instant time, const Event& event) override {
    if (!owner_.machine_.alive()) return {};  // of no effect
    const std::optional<CrashPlan> crash = owner_.crash_;
    if (crash && crash->point == CrashPoint::kBeforeLogging) {
      owner_.Die(crash->outage);
      return {};
    }
    if (Result<void> kept = owner_.refusing_.Append(time, event); !kept) return kept;
    if (const auto* command = std::get_if<OperatorCommand>(&event)) Note(*command);
    owner_.handling_ = true;
    if (crash && crash->point == CrashPoint::kBeforeActions) owner_.Die(crash->outage);
    return {};
  }
  Result<void> SaveSnapshot(Archived snapshot) override {
    if (!owner_.machine_.alive()) return {};
    return owner_.refusing_.SaveSnapshot(std::move(snapshot));
  }
  Result<drivers::Recovered> Load() const override { return owner_.refusing_.Load(); }
  Result<void> Replay(const OnSnapshot& on_snapshot, const OnEvent& on_event) const override {
    return owner_.refusing_.Replay(on_snapshot, on_event);
  }
  uint64_t events_before_snapshot() const override {
    return owner_.refusing_.events_before_snapshot();
  }

 private:
  void Note(const OperatorCommand& command) {
    Disk& disk = owner_.disk_;
    if (command.kind == OperatorCommand::Kind::kPause) disk.paused = true;
    if (command.kind == OperatorCommand::Kind::kResume) disk.paused = false;
    if (command.kind == OperatorCommand::Kind::kStop) disk.stopped = true;
  }

  SimulatedController& owner_;
};

class SimulatedController::Teller final : public drivers::Recorder {
 public:
  explicit Teller(SimulatedController& owner) : owner_(owner) {}

  // A fold of the log begins.
  void BeginFold() {
    folding_ = true;
    folded_ = owner_.disk_.log.events_before_snapshot();
    unheard_.reset();
  }
  // It has ended, and this is the controller.
  void EndFold(const federation::Controller& controller) {
    folding_ = false;
    if (!unheard_) return;
    const auto [time, event, actions] = *std::exchange(unheard_, std::nullopt);
    if (owner_.watch_ != nullptr) owner_.watch_->Handled(time, event, actions, controller);
  }

  void Event(Instant now, const federation::Event& event) override {
    telling_ = folding_ ? ++folded_ > owner_.disk_.told : owner_.machine_.alive();
    if (!telling_) return;
    ++owner_.disk_.told;
    if (folding_) {
      METIS_CHECK(!unheard_);  // a process dies with the first event that it does not tell of
      unheard_ = {now, event, {}};
    }
    if (owner_.recorder_ != nullptr) owner_.recorder_->Event(now, event);
  }
  void Action(Instant now, const federation::Action& action) override {
    if (!telling_) return;
    if (folding_) unheard_->actions.push_back(action);
    if (owner_.recorder_ != nullptr) owner_.recorder_->Action(now, action);
  }

 private:
  struct Unheard {
    Instant time;
    federation::Event event;
    std::vector<federation::Action> actions;
  };

  SimulatedController& owner_;
  bool folding_ = false;
  uint64_t folded_ = 0;
  bool telling_ = false;  // the latest event is told of
  std::optional<Unheard> unheard_;
};

// --- The process

SimulatedController::SimulatedController(World& world, const learner::Workload& workload,
                                         const federation::Settings& settings,
                                         uint64_t snapshot_every, uint64_t snapshot_bytes)
    : world_(world),
      workload_(workload),
      settings_(settings),
      snapshot_every_(snapshot_every),
      snapshot_bytes_(snapshot_bytes),
      machine_(world.queue, world.faults, kControllerOwner, Fault::kControllerPause),
      refusing_(world, disk_.log),
      log_(std::make_unique<CrashingLog>(*this)),
      teller_(std::make_unique<Teller>(*this)) {}

SimulatedController::~SimulatedController() = default;

const federation::Controller& SimulatedController::controller() const {
  METIS_CHECK(host_ || dead_);
  return host_ ? host_->controller() : dead_->controller();
}

void SimulatedController::Open() {
  machine_.StartProcess();
  ++life_;
  drivers::ControllerHostOptions options{.settings = settings_,
                                         .initial = workload_.initial(),
                                         .snapshot_every = snapshot_every_,
                                         .snapshot_bytes = snapshot_bytes_};
  if (world_.faults.rates().unreadable_model > 0) {
    options.store = std::make_unique<UnreliableStore>(world_, handling_);
  }
  options.on_failure = [this](const std::string&) {
    if (machine_.alive()) Die(world_.faults.Outage(kControllerOwner));
  };
  options.on_handled = [this](Instant now, const Event& event, const std::vector<Action>& actions) {
    Handled(now, event, actions);
  };
  teller_->BeginFold();
  std::unique_ptr<drivers::DurableController> durable =
      drivers::ControllerHost::Recover(options, workload_.pool(), *log_, teller_.get()).value();
  host_ = std::make_unique<drivers::ControllerHost>(std::move(durable), std::move(options),
                                                    machine_, teller_.get(), nullptr);
  teller_->EndFold(host_->controller());
}

void SimulatedController::Start() {
  Open();
  host_->Begin(*this);
}

void SimulatedController::Restart() {
  if (std::exchange(put_back_next_, false)) {
    world_.faults.Count(Fault::kOlderCopy);
    disk_ = *copy_;
    if (watch_ != nullptr) watch_->PutBack();
  }
  Open();
  dead_.reset();
  if (watch_ != nullptr) watch_->Restarted(host_->controller());
  host_->Begin(*this);
}

void SimulatedController::Die(Duration outage) {
  METIS_CHECK(machine_.alive());
  machine_.Kill();
  handling_ = false;
  crash_.reset();
  messages_left_.reset();
  dead_ = std::move(host_);  // we may be called by it
  put_back_next_ = copy_ && ++deaths_since_copy_ % 2 == 0;
  for (const auto& [id, talk] : std::exchange(talks_, {})) {
    talk.participant->Broken();
  }
  world_.queue.After(outage, kControllerOwner, [this] { Restart(); });
}

void SimulatedController::CrashSoon(CrashPoint point, double among, Duration outage) {
  if (!up() || crash_) return;
  crash_ = CrashPlan{point, among, outage};
  world_.faults.Count(Fault::kControllerCrash);
}

void SimulatedController::FreezeUntil(Instant until) {
  if (!up()) return;
  // One sleep that begins in another is the same one.
  if (!machine_.frozen()) slept_from_ = world_.queue.now();
  machine_.FreezeUntil(until);
}

void SimulatedController::CopyDisk() {
  // Not while a crash is about to strike: what is durable is told of then, or it is not.
  if (!up() || crash_) return;
  copy_ = disk_;
  deaths_since_copy_ = 0;
  if (watch_ != nullptr) watch_->Copied();
}

// --- Events

void SimulatedController::Handled(Instant now, const Event& event,
                                  const std::vector<Action>& actions) {
  if (!machine_.alive()) return;
  handling_ = false;
  CheckLost(event);
  if (watch_ != nullptr) watch_->Handled(now, event, actions, host_->controller());
  if (!crash_) return;
  // The process dies among the messages that this event causes, or right after them.
  size_t messages = 0;
  for (const Action& action : actions) messages += drivers::Addressee(action) ? 1 : 0;
  if (crash_->point == CrashPoint::kAmongActions && messages > 0) {
    messages_left_ = static_cast<size_t>(crash_->among * static_cast<double>(messages));
  } else {
    machine_.Post([this, outage = crash_->outage] {
      if (crash_) Die(outage);
    });
  }
}

void SimulatedController::Send(LearnerId to, const Action& message) {
  if (!machine_.alive()) return;
  if (messages_left_ && (*messages_left_)-- == 0) return Die(crash_->outage);
  auto talk = talks_.find(to);
  if (talk == talks_.end()) return;  // not connected
  if (const auto* request = std::get_if<federation::RequestEvaluation>(&message)) {
    talk->second.evaluations.insert(request->update);
  }
  const uint64_t bytes = kControlBytes + (CarriesModel(message) ? model_bytes() : 0);
  Participant* const participant = talk->second.participant;
  participant->line().Carry([this, participant, bytes, message] {
    world_.network.Send(participant->number(), bytes, participant->number(),
                        [participant, message] { participant->Deliver(message); });
  });
}

// --- Conversations

void SimulatedController::Dial(Participant& participant) {
  if (!up()) return;
  host_->Identify(participant.name(),
                  [this, caller = &participant, process = participant.process()](LearnerId id) {
                    if (!machine_.alive() || caller->process() != process) return;
                    Talk& talk = talks_[id];
                    if (talk.participant != nullptr && talk.participant != caller) {
                      world_.Broken(Text("id ", id, " was given to ", caller->name(), " and to ",
                                         talk.participant->name()));
                    }
                    talk = Talk{caller, false, {}};
                    caller->Connected(life_, id);
                  });
}

void SimulatedController::Receive(uint64_t life, const drivers::FromParticipant& message) {
  if (!up() || life != life_) return;
  host_->Receive(message);
  auto talk = talks_.find(message.from);
  if (talk == talks_.end() || std::exchange(talk->second.heard, true)) return;
  // Posted behind the message: by then the host has handled it.
  machine_.Post([this, from = message.from] { CheckPromises(from); });
}

// --- What no fault may break

void SimulatedController::CheckPromises(LearnerId participant) {
  auto talk = talks_.find(participant);
  if (talk == talks_.end()) return;
  std::vector<Action> promised;
  host_->controller().Resume(promised);
  for (const Action& action : promised) {
    const auto* request = std::get_if<federation::RequestEvaluation>(&action);
    if (request == nullptr || request->evaluator != participant) continue;
    if (talk->second.evaluations.contains(request->update)) continue;
    world_.Broken(Text("learner ", participant, " is back and was not asked again for update ",
                       request->update.sequence, " of learner ", request->update.learner));
  }
}

void SimulatedController::CheckLost(const Event& event) {
  const auto* lost = std::get_if<federation::LearnerLost>(&event);
  if (lost == nullptr) return;
  // After a long sleep everybody has the whole time to be heard.
  const Duration listening = world_.queue.now() - machine_.frozen_until();
  const bool slept = machine_.frozen_until() - slept_from_ > 2 * settings_.membership.heartbeat;
  if (slept && listening < settings_.membership.silence) {
    world_.Broken(Text("learner ", lost->learner, " is lost because the controller itself slept"));
  }
}

void SimulatedController::Command(OperatorCommand::Kind kind, const std::string& name) {
  if (!up()) return;
  host_->Command(kind, name, [this, kind](const Result<drivers::Commanded>& answer) {
    if (answer.ok() && machine_.alive()) CheckAnswered(kind);
  });
}

void SimulatedController::CheckAnswered(OperatorCommand::Kind kind) {
  if (host_->controller().phase() == federation::Phase::kFinished) return;
  const bool kept = kind == OperatorCommand::Kind::kPause    ? disk_.paused
                    : kind == OperatorCommand::Kind::kResume ? !disk_.paused
                    : kind == OperatorCommand::Kind::kStop   ? disk_.stopped
                                                             : true;
  if (kept) return;
  world_.Broken(Text("the operator's ", NameOf(kind), " was answered before it was durable"));
}

}  // namespace metis::sim
