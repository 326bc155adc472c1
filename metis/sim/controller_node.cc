#include "metis/sim/controller_node.h"

#include <algorithm>
#include <utility>

#include "metis/core/check.h"
#include "metis/sim/unreliable_store.h"

namespace metis::sim {

using federation::Action;
using federation::Event;

namespace {

bool CarriesModel(const Action& action) {
  return std::holds_alternative<federation::SendCommunity>(action) ||
         std::holds_alternative<federation::RequestEvaluation>(action) ||
         std::holds_alternative<federation::RequestTest>(action);
}

}  // namespace

ControllerNode::ControllerNode(World& world, const Workload& workload,
                               const federation::Settings& settings, uint64_t snapshot_every,
                               uint64_t snapshot_bytes)
    : world_(world),
      workload_(workload),
      settings_(settings),
      snapshot_every_(snapshot_every),
      snapshot_bytes_(snapshot_bytes),
      liveness_(settings.membership.silence) {}

const federation::Controller& ControllerNode::controller() const {
  METIS_CHECK(durable_ || dead_);
  return durable_ ? durable_->controller() : dead_->controller();
}

std::unique_ptr<drivers::DurableController> ControllerNode::Open(drivers::Recorder* folded) {
  drivers::DurableOptions options{.snapshot_every = snapshot_every_,
                                  .snapshot_bytes = snapshot_bytes_};
  options.recorder = folded;
  if (world_.faults.rates().unreadable_model > 0) {
    options.store = std::make_unique<UnreliableStore>(world_, handling_);
  }
  return drivers::DurableController::Open(settings_, workload_.initial(), workload_.pool(), log_,
                                          std::move(options))
      .value();
}

void ControllerNode::Start() {
  ++life_;
  durable_ = Open(nullptr);
  CheckLiveness();
}

void ControllerNode::Restart() {
  Start();
  if (watch_ != nullptr) watch_->Restarted(durable_->controller());
  for (const auto& [learner, member] : durable_->controller().membership().all()) {
    if (member.live()) liveness_.Heard(learner, member.incarnation(), world_.queue.now());
  }
  std::vector<Action> actions;
  durable_->controller().Resume(actions);
  Perform(actions, actions.size());
}

void ControllerNode::Crash(Duration outage) {
  world_.faults.Count(Fault::kControllerCrash);
  GoDown(outage);
}

void ControllerNode::GoDown(Duration outage) {
  ++life_;
  dead_ = std::exchange(durable_, nullptr);
  liveness_ = drivers::LivenessWatch(settings_.membership.silence);
  world_.queue.After(outage, kControllerOwner, [this] { Restart(); });
}

void ControllerNode::CrashSoon(CrashPoint point, double among, Duration outage) {
  if (up()) crash_ = CrashPlan{point, among, outage};
}

void ControllerNode::PauseUntil(Instant until) {
  if (up()) paused_until_ = std::max(paused_until_, until);
}

void ControllerNode::Receive(const drivers::FromParticipant& message) {
  if (!up()) return;
  const Instant now = world_.queue.now();
  if (now < paused_until_) {
    world_.faults.Count(Fault::kControllerPause);
    world_.queue.At(paused_until_, kControllerOwner, [this, message] { Receive(message); });
    return;
  }
  if (message.event) Process(*message.event);
  if (!up()) return;  // crashed on the way
  if (liveness_.Handled(message, controller().membership(), now)) {
    Process(federation::LearnerReturned{message.from, message.incarnation});
  }
}

void ControllerNode::Command(const federation::OperatorCommand& command) {
  if (!up()) return;
  if (world_.queue.now() < paused_until_) {
    world_.queue.At(paused_until_, kControllerOwner, [this, command] { Command(command); });
    return;
  }
  Process(command);
}

bool ControllerNode::Handle(const Event& event, std::vector<Action>& actions) {
  handling_ = true;
  const bool handled = durable_->Handle(world_.queue.now(), event, actions).ok();
  handling_ = false;
  if (handled) return true;
  METIS_CHECK(durable_->failed());
  // The event is in the log: what it came to is what a fold says.
  durable_ = Open(&folded_);
  actions = std::exchange(folded_.actions, {});
  return false;
}

void ControllerNode::Process(const Event& event) {
  const Instant now = world_.queue.now();
  std::optional<CrashPlan> crash = std::exchange(crash_, std::nullopt);
  if (crash && crash->point == CrashPoint::kBeforeLogging) return Crash(crash->outage);
  std::vector<Action> actions;
  const bool handled = Handle(event, actions);
  if (recorder_ != nullptr) {
    recorder_->Event(now, event);
    for (const Action& action : actions) recorder_->Action(now, action);
  }
  if (watch_ != nullptr) watch_->Handled(now, event, actions, durable_->controller());
  if (!handled) return GoDown(world_.faults.Outage(kControllerOwner));
  size_t sent = actions.size();
  if (crash && crash->point == CrashPoint::kBeforeActions) sent = 0;
  if (crash && crash->point == CrashPoint::kAmongActions) {
    sent = static_cast<size_t>(crash->among * static_cast<double>(sent));
  }
  Perform(actions, sent);
  if (crash) Crash(crash->outage);
}

void ControllerNode::Perform(const std::vector<Action>& actions, size_t count) {
  for (size_t i = 0; i < count; ++i) Perform(actions[i]);
}

void ControllerNode::Perform(const Action& action) {
  if (const auto* timer = std::get_if<federation::StartTimer>(&action)) {
    Instant due = std::max(timer->due, world_.queue.now());
    world_.queue.At(due, kControllerOwner, [this, life = life_, timer = timer->timer] {
      if (life != life_) return;
      if (world_.queue.now() < paused_until_) {
        return Perform(federation::StartTimer{timer, paused_until_});
      }
      Process(federation::TimerFired{timer});
    });
    return;
  }
  std::optional<LearnerId> to = drivers::Addressee(action);
  if (!to) return;
  auto participant = participants_.find(*to);
  if (participant == participants_.end()) return;
  uint64_t bytes =
      kControlBytes + (CarriesModel(action) ? workload_.initial()->schema()->bytes() : 0);
  world_.network.Send(*to, bytes, to->value(),
                      [inbox = participant->second, action] { inbox->Receive(action); });
}

void ControllerNode::CheckLiveness() {
  world_.queue.After(settings_.membership.heartbeat, kControllerOwner, [this, life = life_] {
    if (life != life_ || controller().phase() == federation::Phase::kFinished) return;
    if (world_.queue.now() < paused_until_) {
      liveness_.Grace(paused_until_);
    } else {
      for (const auto& silent : liveness_.TakeSilent(world_.queue.now())) {
        if (life != life_) return;  // crashed on the way
        Process(federation::LearnerLost{silent.learner, silent.incarnation});
      }
    }
    if (life == life_) CheckLiveness();
  });
}

}  // namespace metis::sim
