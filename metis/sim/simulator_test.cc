#include "metis/sim/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "metis/policy/policy.h"
#include "metis/sim/laws.h"
#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

using federation::StopReason;

struct Outcome {
  uint64_t state_hash = 0;
  federation::Tally statistics;
  federation::Phase phase = federation::Phase::kWaiting;
  std::optional<StopReason> reason;
  double accuracy = 0;
  double ended = 0;   // seconds
  size_t models = 0;  // that were in memory at once
};

// The default task and machines (five fast, five slow), in unequal shares.
class SimulatorTest : public testing::Test {
 protected:
  void Use(std::string_view policy) {
    federation_.policy = *policy::PolicyNamed(policy);
    federation_.test.every = Duration::Seconds(60);
  }
  Outcome Run(double minutes, drivers::Recorder* recorder = nullptr) {
    data::PartitionSettings partition;
    partition.sizes = data::SizeDistribution::kSkewed;
    auto workload = builtin::BuiltinWorkload::Create(
                        simulation_.builtin, partition, training_, 10,
                        federation::NeedsValidationSet(federation_.policy), simulation_.seed)
                        .value();
    Simulator simulator({.federation = federation_,
                         .simulation = simulation_,
                         .workload = *workload,
                         .snapshot_bytes = snapshot_bytes_,
                         .threads = threads_});
    Laws laws(federation_, workload->initial(), workload->pool());
    simulator.SetLaws(&laws);
    simulator.SetRecorder(recorder);
    simulator.Run(At(60 * minutes));
    EXPECT_FALSE(laws.violation()) << *laws.violation();
    EXPECT_FALSE(simulator.violation()) << *simulator.violation();
    EXPECT_FALSE(simulator.failure()) << simulator.failure()->message;
    const federation::Controller& controller = simulator.controller();
    return {controller.StateHash(),
            controller.statistics(),
            controller.phase(),
            controller.stop_reason(),
            controller.tests().latest_accuracy(),
            simulator.now().seconds(),
            workload->pool().allocated()};
  }

  federation::Settings federation_;
  Settings simulation_;
  learner::TrainingSettings training_;
  uint64_t snapshot_bytes_ = std::numeric_limits<uint64_t>::max();
  uint32_t threads_ = 1;
};

class EachPolicy : public SimulatorTest, public testing::WithParamInterface<std::string_view> {};

TEST_P(EachPolicy, CommitsAndLearnsWellAboveChance) {
  Use(GetParam());
  Outcome outcome = Run(5);
  EXPECT_EQ(outcome.phase, federation::Phase::kRunning);
  EXPECT_GT(outcome.statistics.commits, 5u);
  EXPECT_EQ(outcome.statistics.rejected, 0u);
  EXPECT_GT(outcome.accuracy, 0.6) << "chance is 0.1";
}

INSTANTIATE_TEST_SUITE_P(Policies, EachPolicy, testing::ValuesIn(policy::kPolicyNames),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EachPolicy, EndsInTheSameStateWithAnyNumberOfThreads) {
  Use(GetParam());
  const Outcome alone = Run(3);
  for (uint32_t threads : {2U, 3U}) {
    threads_ = threads;
    const Outcome together = Run(3);
    EXPECT_EQ(together.state_hash, alone.state_hash);
    EXPECT_EQ(together.accuracy, alone.accuracy);
  }
}

// Which cycles of each learner had trained an epoch, and which sent an update.
class Cycles final : public drivers::Recorder {
 public:
  void Event(Instant, const federation::Event& event) override {
    const auto* epoch = std::get_if<federation::EpochReported>(&event);
    if (epoch != nullptr) trained[epoch->learner].insert(epoch->cycle);
    const auto* update = std::get_if<federation::UpdateReceived>(&event);
    if (update != nullptr) sent[update->id.learner].insert(update->cycle.cycle);
  }
  void Action(Instant, const federation::Action&) override {}

  std::map<LearnerId, std::set<uint64_t>> trained, sent;
};

// First cycles are long: slow learners miss the round's end, are told to restart, and their later
// updates carry the momentum of what they did before.
TEST_F(SimulatorTest, AbandonedEpochsLeaveNoMomentumBehindWithAnyNumberOfThreads) {
  Use("sync-fedavg");
  federation_.policy = policy::With(federation_.policy, "trigger", "adaptive");
  policy::SetOfGroup(federation_, "slow", "trigger.vc_loss_pct", 1.0);
  policy::SetOfGroup(federation_, "slow", "trigger.vc_tombstones", 1);
  policy::Set(federation_, "sync.round_deadline", Duration::Seconds(30));
  training_.keep_momentum = true;
  Cycles cycles;
  const Outcome alone = Run(4, &cycles);
  const LearnerId slow(1);
  EXPECT_TRUE(cycles.trained[slow].contains(1));
  EXPECT_FALSE(cycles.sent[slow].contains(1)) << "it was not too late";
  EXPECT_TRUE(cycles.sent[slow].contains(3));
  for (uint32_t threads : {2U, 3U}) {
    threads_ = threads;
    EXPECT_EQ(Run(4).state_hash, alone.state_hash);
  }
}

TEST_F(SimulatorTest, ALogOfFewBytesHoldsFewModelsAndChangesNothing) {
  Use("async-fedavg");
  const Outcome unlimited = Run(5);
  snapshot_bytes_ = 4000;  // of 840 each
  const Outcome limited = Run(5);
  EXPECT_EQ(limited.state_hash, unlimited.state_hash);
  EXPECT_LT(limited.models + 30, unlimited.models);
}

TEST_F(SimulatorTest, TheSameSeedEndsInTheSameStateAnotherInAnother) {
  Use("async-dvw-adaptive");
  Outcome once = Run(3);
  EXPECT_EQ(once.state_hash, Run(3).state_hash);
  simulation_.seed = 1991;
  EXPECT_NE(once.state_hash, Run(3).state_hash);
}

// When each learner's epochs of its first cycle ended, as the controller heard of it.
class EpochTimes final : public drivers::Recorder {
 public:
  void Event(Instant now, const federation::Event& event) override {
    const auto* epoch = std::get_if<federation::EpochReported>(&event);
    if (epoch != nullptr && epoch->cycle == 1) times[epoch->learner].push_back(now);
    const auto* update = std::get_if<federation::UpdateReceived>(&event);
    if (update != nullptr && update->cycle.cycle == 1) {
      steps[update->id.learner] = update->steps / update->cycle.epochs;
    }
  }
  void Action(Instant, const federation::Action&) override {}

  std::map<LearnerId, std::vector<Instant>> times;
  std::map<LearnerId, uint64_t> steps;
};

TEST_F(SimulatorTest, AnEpochTakesItsStepsTimesTheBatchTimeOfItsMachine) {
  Use("async-fedavg");
  EpochTimes epochs;
  Run(5, &epochs);
  ASSERT_EQ(epochs.times.size(), 10u);
  std::vector<size_t> groups = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  for (const auto& [learner, times] : epochs.times) {
    ASSERT_EQ(times.size(), 4u) << "uf = 4";
    Duration expected = static_cast<int64_t>(epochs.steps.at(learner)) *
                        simulation_.groups[groups[learner.value()]].batch_time;
    for (size_t i = 1; i < times.size(); ++i) {
      EXPECT_EQ(times[i] - times[i - 1], expected) << "learner " << learner.value();
    }
  }
  EXPECT_GT(epochs.steps[LearnerId(0)], epochs.steps[LearnerId(9)]);
}

TEST_F(SimulatorTest, StopsAfterItsDuration) {
  Use("async-fedavg");
  federation_.stop.duration = Duration::Minutes(4);
  Outcome outcome = Run(60);
  EXPECT_EQ(outcome.reason, StopReason::kDuration);
  EXPECT_NEAR(outcome.ended, 240, 1);
}

TEST_F(SimulatorTest, StopsAfterItsRoundsAndDvwExchangesElevenModelsARequest) {
  Use("sync-dvw");
  federation_.stop.rounds = 3;
  Outcome outcome = Run(60);
  EXPECT_EQ(outcome.reason, StopReason::kRounds);
  EXPECT_EQ(outcome.statistics.commits, 3u);
  EXPECT_EQ(outcome.statistics.requests, 30u);
  EXPECT_EQ(outcome.statistics.models_evaluated, 9 * outcome.statistics.requests);
  EXPECT_EQ(outcome.statistics.models_exchanged, 11 * outcome.statistics.requests);
}

TEST_F(SimulatorTest, StopsAfterItsRequestsAndFedAvgExchangesTwoModelsARequest) {
  Use("async-fedavg");
  federation_.stop.requests = 37;
  Outcome outcome = Run(60);
  EXPECT_EQ(outcome.reason, StopReason::kRequests);
  EXPECT_EQ(outcome.statistics.requests, 37u);
  EXPECT_EQ(outcome.statistics.models_exchanged, 74u);
  EXPECT_EQ(outcome.statistics.models_evaluated, 0u);
}

TEST_F(SimulatorTest, StopsAtItsTargetAccuracy) {
  Use("async-dvw");
  federation_.stop.target_accuracy = 0.5;
  federation_.test.every_commits = 1;
  Outcome outcome = Run(60);
  EXPECT_EQ(outcome.reason, StopReason::kTargetAccuracy);
  EXPECT_GE(outcome.accuracy, 0.5);
  EXPECT_LT(outcome.ended, 600);
}

TEST_F(SimulatorTest, TheFinalModelIsTestedBeforeTheRunEnds) {
  Use("sync-fedavg");
  federation_.stop.rounds = 4;
  federation_.test.every = std::nullopt;
  EXPECT_GT(Run(60).accuracy, 0.3) << "the only test is that of the final model";
}

TEST_F(SimulatorTest, ProgressMayEndARun) {
  auto workload = SmallWorkload(2, false);
  federation_ = SmallFederation("async-fedavg", 2);
  simulation_.groups = {{.name = "fast", .learners = 2}};
  Simulator simulator(
      {.federation = federation_, .simulation = simulation_, .workload = *workload});
  int calls = 0;
  simulator.Run(At(36000), [&](Instant) { return ++calls < 3; });
  EXPECT_EQ(calls, 3);
  EXPECT_LT(simulator.now(), At(36000));
}

}  // namespace
}  // namespace metis::sim
