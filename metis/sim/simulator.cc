#include "metis/sim/simulator.h"

#include <optional>
#include <utility>

#include "metis/core/text.h"
#include "metis/sim/devices.h"
#include "metis/sim/laws.h"
#include "metis/work/journal_bench.h"
#include "metis/work/workload_tools.h"

namespace metis::sim {

Simulator::Simulator(const Parts& parts)
    : federation_(parts.federation),
      simulation_(parts.simulation),
      linger_(parts.linger),
      tools_(std::make_unique<work::WorkloadTools>(parts.workload)),
      tool_bench_(*tools_),
      world_(parts.faults, parts.simulation.seed, parts.threads) {
  world_.bench = &tool_bench_;
  if (parts.journal != nullptr) {
    const bool keeps_state = parts.workload.MakeTrainer(LearnerId(0))->keeps_state();
    journal_bench_ = std::make_unique<work::JournalBench>(tool_bench_, *parts.journal,
                                                          parts.workload.pool(), keeps_state);
    world_.bench = journal_bench_.get();
  }
  controller_ = std::make_unique<SimulatedController>(world_, parts.workload, federation_,
                                                      parts.snapshot_every, parts.snapshot_bytes);
  groups_ = DealGroups(simulation_.groups, parts.workload.learners(), parts.equal_sizes);
  for (uint32_t number = 0; number < parts.workload.learners(); ++number) {
    const DeviceGroup& its_group = group(number);
    world_.network.SetLink(number, {its_group.latency, its_group.bandwidth_mbit_s});
    learners_.push_back(std::make_unique<SimulatedLearner>(
        world_, *controller_, parts.workload, federation_, its_group, number, simulation_.seed));
  }
  observer_ = std::make_unique<SimulatedObserver>(world_, *controller_, parts.workload, federation_,
                                                  parts.workload.learners());
}

Simulator::~Simulator() = default;

const DeviceGroup& Simulator::group(uint32_t learner) const {
  return simulation_.groups[groups_[learner]];
}

void Simulator::SetLaws(Laws* laws) {
  laws_ = laws;
  controller_->SetWatch(laws);
  world_.cycles = laws;
}

void Simulator::Run(Instant horizon, const std::function<bool(Instant)>& progress) {
  controller_->Start();
  for (auto& learner : learners_) StartLearner(*learner);
  observer_->Start();
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
    if (laws_ != nullptr && laws_->violation()) return;
    if (world_.failure || world_.violation) return;
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
  for (auto& learner : learners_) ScheduleLearnerFaults(*learner);
  Repeat(rates.partition, kControllerOwner, [this] { PartitionSome(); });
  Repeat(rates.controller_crash, kControllerOwner, [this] {
    Duration outage = world_.faults.Outage(kControllerOwner);
    Random random = world_.faults.Next(kControllerOwner);
    auto point = static_cast<SimulatedController::CrashPoint>(random.Below(4));
    controller_->CrashSoon(point, random.Uniform(), outage);
  });
  Repeat(rates.controller_pause, kControllerOwner,
         [this] { controller_->FreezeUntil(now() + world_.faults.Outage(kControllerOwner)); });
  Repeat(rates.disk_copy, kControllerOwner, [this] { controller_->CopyDisk(); });
  Repeat(rates.clock_leap, kControllerOwner, [this] { LeapSomewhere(); });
  Repeat(rates.operator_command, kControllerOwner, [this] { CommandSomething(); });
  if (rates.heal_after < Duration::Forever()) ScheduleHealing();
}

// Some come late; a whole federation that does not begin would teach nothing.
void Simulator::StartLearner(SimulatedLearner& learner) {
  const Duration latest = world_.faults.rates().late_start;
  if (latest.IsZero() || !world_.faults.Next(learner.number()).Chance(0.4)) {
    return learner.Start();
  }
  world_.faults.Count(Fault::kLateStart);
  const double late = world_.faults.Next(learner.number()).Uniform(0, latest.seconds());
  world_.queue.After(Duration::FromSeconds(late), learner.number(), [&learner] {
    if (!learner.up()) learner.Start();
  });
}

void Simulator::ScheduleLearnerFaults(SimulatedLearner& learner) {
  const FaultRates& rates = world_.faults.rates();
  const uint32_t number = learner.number();
  auto return_later = [this, &learner, number] {
    world_.queue.After(world_.faults.Outage(number), number, [&learner] {
      if (!learner.up()) learner.Start();
    });
  };
  Repeat(rates.learner_crash, number, [this, &learner, return_later] {
    if (!learner.up()) return;
    world_.faults.Count(Fault::kLearnerCrash);
    learner.Crash();
    return_later();
  });
  Repeat(rates.learner_leave, number, [this, &learner, return_later] {
    if (!learner.up()) return;
    world_.faults.Count(Fault::kLearnerLeave);
    learner.Leave();
    return_later();
  });
  Repeat(rates.learner_pause, number, [this, &learner, number] {
    if (learner.up()) learner.FreezeUntil(now() + world_.faults.Outage(number));
  });
}

void Simulator::PartitionSome() {
  Instant until = now() + world_.faults.Outage(kControllerOwner);
  for (auto& learner : learners_) {
    const uint32_t number = learner->number();
    if (!world_.faults.Next(number).Chance(0.4)) continue;
    world_.network.Cut(number, until);
    // The conversation has long been given up by then.
    world_.queue.At(until, number, [&node = *learner] { node.Broken(); });
  }
}

void Simulator::LeapSomewhere() {
  Random random = world_.faults.Next(kControllerOwner);
  const Duration by =
      Duration::FromSeconds(random.Uniform(1, world_.faults.rates().max_outage.seconds()));
  const size_t which = random.Below(learners_.size() + 1);
  world_.faults.Count(Fault::kClockLeap);
  which < learners_.size() ? learners_[which]->LeapAhead(by) : controller_->LeapAhead(by);
}

void Simulator::CommandSomething() {
  using Kind = federation::OperatorCommand::Kind;
  Random random = world_.faults.Next(kControllerOwner);
  const double draw = random.Uniform();
  const Kind kind = draw < 0.25   ? Kind::kPause
                    : draw < 0.73 ? Kind::kResume
                    : draw < 0.75 ? Kind::kStop
                                  : Kind::kWithdraw;
  const std::string& name = learners_[random.Below(learners_.size())]->name();
  controller_->Command(kind, kind == Kind::kWithdraw ? name : std::string());
}

void Simulator::ScheduleHealing() {
  const FaultRates& rates = world_.faults.rates();
  Instant healed = Instant() + rates.heal_after;
  if (rates.permanent_loss) {
    // Not before everything that was down has come back, or it would come back too.
    world_.queue.At(healed + rates.max_outage, kControllerOwner, [this] {
      SimulatedLearner& learner = *learners_.back();
      if (!learner.up()) return;
      world_.faults.Count(Fault::kPermanentLoss);
      learner.Crash();
      if (world_.faults.Next(learner.number()).Chance(0.5)) learner.RestartBriefly();
    });
  }
  // The operator comes back to a controller that may still be down: resumes until it has been
  // heard.
  for (int again = 0; again < 3; ++again) {
    world_.queue.At(healed + (again + 1) * rates.max_outage, kControllerOwner,
                    [this] { controller_->Command(federation::OperatorCommand::Kind::kResume); });
  }
}

}  // namespace metis::sim
