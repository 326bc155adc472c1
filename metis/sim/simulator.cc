#include "metis/sim/simulator.h"

#include <optional>

#include "metis/sim/devices.h"
#include "metis/sim/invariants.h"

namespace metis::sim {

Simulator::Simulator(const Parts& parts)
    : federation_(parts.federation),
      simulation_(parts.simulation),
      linger_(parts.linger),
      world_(parts.faults, parts.simulation.seed, parts.threads) {
  world_.journal = parts.journal;
  controller_ = std::make_unique<ControllerNode>(world_, parts.workload, federation_,
                                                 parts.snapshot_every, parts.snapshot_bytes);
  world_.controller = controller_.get();
  groups_ = DealGroups(simulation_.groups, parts.workload.learners(), parts.equal_sizes);
  for (uint32_t i = 0; i < parts.workload.learners(); ++i) {
    LearnerId id(i);
    const DeviceGroup& its_group = group(id);
    world_.network.SetLink(id, {its_group.latency, its_group.bandwidth_mbit_s});
    learners_.push_back(std::make_unique<LearnerNode>(
        world_, parts.workload, federation_, its_group, id, simulation_.seed, parts.train_ahead));
    controller_->Connect(id, learners_.back().get());
  }
  LearnerId observer_id(parts.workload.learners());
  world_.network.Spare(observer_id);
  observer_ = std::make_unique<ObserverNode>(world_, parts.workload, observer_id,
                                             federation_.membership.heartbeat);
  controller_->Connect(observer_id, observer_.get());
}

Simulator::~Simulator() = default;

const DeviceGroup& Simulator::group(LearnerId learner) const {
  return simulation_.groups[groups_[learner.value()]];
}

void Simulator::SetInvariants(Invariants* invariants) {
  invariants_ = invariants;
  controller_->SetWatch(invariants);
  world_.cycles = invariants;
}

void Simulator::Run(Instant horizon, const std::function<bool(Instant)>& progress) {
  controller_->Start();
  observer_->Start();
  for (auto& learner : learners_) learner->Start();
  ScheduleFaults();
  constexpr uint64_t kTasksBetweenReports = 256;
  std::optional<Instant> end;
  while (!world_.queue.empty() && world_.queue.next() <= horizon) {
    bool finished = controller().phase() == federation::Phase::kFinished;
    if (finished && controller_->up() && !end) end = now() + linger_;
    // What is due at the very moment of the end still happens: the final model's test.
    if (end && world_.queue.next() > *end) return;
    const uint64_t jobs_before = world_.jobs_taken;
    world_.queue.RunNext();
    if (invariants_ != nullptr && invariants_->violation()) return;
    if (world_.failure) return;
    bool report = progress && (world_.queue.executed() % kTasksBetweenReports == 0 ||
                               world_.jobs_taken != jobs_before);
    if (report && !progress(now())) return;
  }
}

// --- Faults
// --------------------------------------------------------------------------------------------

void Simulator::Repeat(Duration mean, uint64_t learner, std::function<void()> fault) {
  if (mean.IsZero()) return;
  world_.queue.After(world_.faults.Gap(mean, learner), learner, [this, mean, learner, fault] {
    if (!world_.faults.Active(now())) return;
    fault();
    Repeat(mean, learner, fault);
  });
}

void Simulator::ScheduleFaults() {
  const FaultRates& rates = world_.faults.rates();
  for (auto& node : learners_) ScheduleLearnerFaults(*node);
  Repeat(rates.partition, kControllerOwner, [this] { PartitionSome(); });
  Repeat(rates.controller_crash, kControllerOwner, [this] {
    Duration outage = world_.faults.Outage(kControllerOwner);
    Random random = world_.faults.Next(kControllerOwner);
    auto point = static_cast<ControllerNode::CrashPoint>(random.Below(4));
    controller_->CrashSoon(point, random.Uniform(), outage);
  });
  Repeat(rates.controller_pause, kControllerOwner,
         [this] { controller_->PauseUntil(now() + world_.faults.Outage(kControllerOwner)); });
  Repeat(rates.operator_command, kControllerOwner, [this] { CommandSomething(); });
  if (rates.heal_after < Duration::Forever()) ScheduleHealing();
}

void Simulator::ScheduleLearnerFaults(LearnerNode& node) {
  const FaultRates& rates = world_.faults.rates();
  const uint64_t id = node.learner().value();
  auto return_later = [this, &node, id] {
    world_.queue.After(world_.faults.Outage(id), id, [&node] {
      if (!node.up()) node.Start();
    });
  };
  Repeat(rates.learner_crash, id, [this, &node, return_later] {
    if (!node.up()) return;
    world_.faults.Count(Fault::kLearnerCrash);
    node.Crash();
    return_later();
  });
  Repeat(rates.learner_leave, id, [this, &node, return_later] {
    if (!node.up()) return;
    world_.faults.Count(Fault::kLearnerLeave);
    node.Leave();
    return_later();
  });
  Repeat(rates.learner_pause, id,
         [this, &node, id] { node.PauseUntil(now() + world_.faults.Outage(id)); });
}

void Simulator::PartitionSome() {
  Instant until = now() + world_.faults.Outage(kControllerOwner);
  for (auto& node : learners_) {
    if (world_.faults.Next(node->learner().value()).Chance(0.4)) {
      world_.network.Partition(node->learner(), until);
    }
  }
}

void Simulator::CommandSomething() {
  Random random = world_.faults.Next(kControllerOwner);
  federation::OperatorCommand command;
  double kind = random.Uniform();
  command.kind = kind < 0.25   ? federation::OperatorCommand::Kind::kPause
                 : kind < 0.75 ? federation::OperatorCommand::Kind::kResume
                               : federation::OperatorCommand::Kind::kWithdraw;
  command.learner = LearnerId(static_cast<uint32_t>(random.Below(learners_.size())));
  controller_->Command(command);
}

void Simulator::ScheduleHealing() {
  const FaultRates& rates = world_.faults.rates();
  Instant healed = Instant() + rates.heal_after;
  if (rates.permanent_loss) {
    // Not before everything that was down has come back, or it would come back too.
    world_.queue.At(healed + rates.max_outage, kControllerOwner, [this] {
      LearnerNode& node = *learners_.back();
      if (!node.up()) return;
      world_.faults.Count(Fault::kPermanentLoss);
      node.Crash();
      if (world_.faults.Next(node.learner().value()).Chance(0.5)) node.Stir();
    });
  }
  // The operator comes back to a controller that may still be down: resumes until it has been
  // heard.
  for (int again = 0; again < 3; ++again) {
    world_.queue.At(healed + (again + 1) * rates.max_outage, kControllerOwner, [this] {
      controller_->Command({federation::OperatorCommand::Kind::kResume, {}});
    });
  }
}

}  // namespace metis::sim
