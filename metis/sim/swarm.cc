#include "metis/sim/swarm.h"

#include <algorithm>
#include <array>

#include "metis/builtin/workload.h"
#include "metis/core/enum_name.h"
#include "metis/core/fingerprint.h"
#include "metis/core/random.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"
#include "metis/sim/laws.h"
#include "metis/sim/simulator.h"

namespace metis::sim {

using federation::LeaseEnd;

namespace {

Duration DrawSeconds(Random& random, double low, double high) {
  return Duration::FromSeconds(random.Uniform(low, high));
}

const federation::Part& DrawPart(Random& random,
                                 const std::vector<const federation::Part*>& parts) {
  double all = 0;
  for (const federation::Part* part : parts) all += part->drawn;
  double draw = random.Uniform(0, all);
  for (const federation::Part* part : parts) {
    draw -= part->drawn;
    if (draw < 0) return *part;
  }
  return *parts.back();
}

// Rows of the paper's table most of the time, else a combination of any parts that agree.
federation::Policy DrawPolicy(Random& random, const federation::Settings& others) {
  const auto name = policy::kPolicyNames[random.Below(policy::kPolicyNames.size())];
  const bool combined = random.Chance(0.3);
  federation::Settings settings = others;
  settings.policy = *policy::PolicyNamed(name);
  for (const policy::Kind& kind : policy::Kinds()) {
    const federation::Part& part = DrawPart(random, kind.choices);
    const bool of_protocol = kind.key == "aggregator" && settings.policy.aggregator->weighs;
    if ((kind.named && !combined) || of_protocol) continue;
    const federation::Policy before = settings.policy;
    settings.policy = policy::With(before, kind.key, part.name);
    if (!policy::FindConflicts(settings).empty()) settings.policy = before;
  }
  return settings.policy;
}

// Every part draws from a stream of its own: another one changes no scenario of the others' keys.
void DrawKeys(uint64_t seed, federation::Settings& settings) {
  for (const policy::Kind& kind : policy::Kinds()) {
    for (const federation::Part* part : kind.parts) {
      if (part->draw == nullptr) continue;
      const uint64_t stream = Fingerprint(Text(kind.key, " ", part->name));
      Random random({.seed = seed, .cycle = 5, .epoch = stream, .purpose = Purpose::kFaultRates});
      part->draw(random, settings);
    }
  }
}

void DrawMembership(Random& random, uint32_t learners, federation::Settings& settings) {
  federation::MembershipSettings& membership = settings.membership;
  membership.learners = learners;
  membership.start_with = static_cast<uint32_t>(1 + random.Below(learners));
  membership.quorum = static_cast<uint32_t>(1 + random.Below(std::min(learners - 1, 3u)));
  membership.silence = DrawSeconds(random, 15, 60);
  membership.heartbeat = membership.silence / 4;
  membership.lease = DrawSeconds(random, 60, 300);
  membership.lease_end = random.Chance(0.5) ? LeaseEnd::kWithdraw : LeaseEnd::kKeep;
  settings.retry = DrawSeconds(random, 2, 6);
  settings.test.every = Duration::Minutes(2);
}

// As few end by what their tests say.
void DrawTestedStop(Random& random, federation::Settings& settings) {
  if (!random.Chance(0.1)) return;
  if (random.Chance(0.5)) {
    settings.stop.target_accuracy = random.Uniform(0.5, 0.95);
  } else {
    settings.stop.patience = static_cast<uint32_t>(1 + random.Below(5));
  }
}

// Few scenarios end by themselves; the others have the whole hour to go wrong in.
void DrawStop(Random& random, federation::Settings& settings) {
  if (!random.Chance(0.15)) return;
  if (random.Chance(0.4)) {
    settings.stop.duration = DrawSeconds(random, 5 * 60, 45 * 60);
  } else if (settings.policy.protocol->rounds) {
    settings.stop.rounds = 2 + random.Below(10);
  } else {
    settings.stop.requests = 5 + random.Below(60);
  }
}

}  // namespace

Scenario DrawScenario(uint64_t seed) {
  Random random({.seed = seed, .cycle = 1, .purpose = Purpose::kFaultRates});
  Scenario scenario;
  scenario.seed = seed;
  auto learners = static_cast<uint32_t>(3 + random.Below(5));
  scenario.federation.seed = seed;
  DrawKeys(seed, scenario.federation);
  scenario.federation.membership.learners = learners;
  scenario.federation.policy = DrawPolicy(random, scenario.federation);
  DrawMembership(random, learners, scenario.federation);

  scenario.training.batch_size = static_cast<uint32_t>(5 + random.Below(20));
  scenario.training.validation_fraction = random.Uniform(0.1, 0.3);
  if (const auto proximal = scenario.federation.policy.protocol->proximal) {
    scenario.training.proximal = *proximal;
  }
  constexpr std::array<std::string_view, 3> kSizes = {"uniform", "skewed", "powerlaw"};
  constexpr std::array<std::string_view, 3> kClasses = {"iid", "noniid:2", "dirichlet:0.5"};
  METIS_CHECK(data::ParseSizes(kSizes[random.Below(3)], scenario.partition).ok());
  METIS_CHECK(data::ParseClasses(kClasses[random.Below(3)], scenario.partition).ok());

  Settings& simulation = scenario.simulation;
  simulation.seed = seed;
  simulation.builtin = {.classes = 3,
                        .features = static_cast<uint32_t>(3 + random.Below(3)),
                        .training_examples = static_cast<uint32_t>(150 + random.Below(250)),
                        .test_examples = 60};
  DeviceGroup fast{.name = "fast", .learners = (learners + 1) / 2};
  fast.batch_time = DrawSeconds(random, 0.1, 0.6);
  fast.evaluation_batch_time = fast.batch_time / 3;
  fast.latency = DrawSeconds(random, 0.001, 0.2);
  DeviceGroup slow = fast;
  slow.name = "slow";
  slow.learners = learners / 2;
  auto slowdown = static_cast<int64_t>(1 + random.Below(6));
  slow.batch_time = slowdown * fast.batch_time;
  slow.evaluation_batch_time = slowdown * fast.evaluation_batch_time;
  simulation.groups = {fast, slow};

  scenario.faults = DrawFaultRates(seed);
  scenario.faults.heal_after = Duration::Minutes(35);
  scenario.snapshot_every = 5 + random.Below(200);
  Random stops({.seed = seed, .cycle = 2, .purpose = Purpose::kFaultRates});
  DrawStop(stops, scenario.federation);
  Random keeping({.seed = seed, .cycle = 3, .purpose = Purpose::kFaultRates});
  scenario.federation.keep_models = keeping.Chance(0.7);
  Random tested({.seed = seed, .cycle = 4, .purpose = Purpose::kFaultRates});
  DrawTestedStop(tested, scenario.federation);
  Random copies({.seed = seed, .cycle = 5, .purpose = Purpose::kFaultRates});
  if (copies.Chance(0.3)) scenario.faults.disk_copy = DrawSeconds(copies, 120, 900);
  return scenario;
}

namespace {

bool MayStarve(const federation::Settings& settings) {
  const auto& may_starve = settings.policy.protocol->may_starve;
  return may_starve != nullptr && may_starve(settings);
}

std::string StateOf(const SimulatedLearner& learner) {
  if (learner.session() == nullptr) return "dialling";
  return Text(static_cast<int>(learner.session()->state()));
}

// Every learner that is up must have had an update committed since the world healed, and the
// observer must be known.
std::optional<std::string> CheckLiveness(const Scenario& scenario, const Simulator& simulator,
                                         const Invariants& invariants) {
  const federation::Controller& controller = simulator.controller();
  // By the controller's clock.
  const Instant healed = Instant() + scenario.faults.heal_after + 2 * scenario.faults.max_outage +
                         simulator.controller_ahead();
  if (invariants.latest_commit() <= healed) return "nothing was committed since the world healed";
  for (const auto& node : simulator.learners()) {
    const LearnerId learner = node->id();
    bool lost_for_good = scenario.faults.permanent_loss && node == simulator.learners().back();
    if (lost_for_good) continue;
    if (!node->up()) return Text(node->name(), " did not come back after healing");
    if (invariants.latest_commit(learner) > healed) continue;
    if (MayStarve(scenario.federation)) continue;
    return Text(node->name(), " got no update through since the world healed (phase ",
                NameOf(controller.phase()), ", ", controller.phase_reason(), "; its state is ",
                StateOf(*node), ")");
  }
  const federation::Member* observer = controller.membership().Find(simulator.observer().id());
  if (observer == nullptr || observer->trains()) return "the controller knows no observer any more";
  return std::nullopt;
}

// A duration ends the federation, also if the controller was down when it was over.
std::optional<std::string> CheckDuration(const Scenario& scenario, const Invariants& invariants) {
  if (!invariants.due()) return std::nullopt;
  const Instant due = std::max(*invariants.due(), Instant() + scenario.faults.heal_after) +
                      2 * scenario.faults.max_outage;
  if (due >= Instant() + scenario.length) return std::nullopt;
  return Text("it goes on though its duration was over at ", Fixed(due.seconds(), 0), " s");
}

// Once the federation is over, everybody hears of it.
std::optional<std::string> CheckDismissed(const Simulator& simulator) {
  for (const auto& node : simulator.learners()) {
    if (!node->up()) continue;
    return Text(node->name(), " is at work though the federation has finished; its state is ",
                StateOf(*node));
  }
  if (simulator.observer().up())
    return "the observer did not hear that the federation has finished";
  return std::nullopt;
}

}  // namespace

SwarmOutcome RunScenario(const Scenario& scenario, drivers::Recorder* recorder) {
  SwarmOutcome outcome;
  bool validation = federation::NeedsValidationSet(scenario.federation.policy);
  auto learners = scenario.federation.membership.learners;
  Result<std::unique_ptr<builtin::BuiltinWorkload>> workload =
      builtin::BuiltinWorkload::Create(scenario.simulation.builtin, scenario.partition,
                                       scenario.training, learners, validation, scenario.seed);
  if (!workload) {
    outcome.failure = workload.error().message;
    return outcome;
  }
  FaultRates faults = scenario.faults;
  if (recorder != nullptr) faults.disk_copy = {};  // a record does not go back
  Simulator simulator({.federation = scenario.federation,
                       .simulation = scenario.simulation,
                       .workload = **workload,
                       .faults = faults,
                       .equal_sizes = false,
                       .snapshot_every = scenario.snapshot_every,
                       .linger = Duration::Forever()});
  Laws laws(scenario.federation, (*workload)->initial(), (*workload)->pool(),
            !faults.disk_copy.IsZero());
  simulator.SetLaws(&laws);
  simulator.SetRecorder(recorder);
  simulator.Run(Instant() + scenario.length);
  const Invariants& invariants = laws.invariants();
  outcome.commits = invariants.commits();
  outcome.tasks = simulator.tasks_executed();
  outcome.state_hash = simulator.controller().StateHash();
  outcome.struck = simulator.faults_struck();
  outcome.failure = laws.violation() ? laws.violation() : simulator.violation();
  if (simulator.failure()) outcome.failure = simulator.failure()->message;
  if (outcome.failure) return outcome;
  if (simulator.controller().phase() == federation::Phase::kFinished) {
    outcome.failure = CheckDismissed(simulator);
    return outcome;
  }
  outcome.failure = CheckDuration(scenario, invariants);
  if (!outcome.failure) outcome.failure = CheckLiveness(scenario, simulator, invariants);
  return outcome;
}

}  // namespace metis::sim
