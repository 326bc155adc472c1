#include "metis/sim/learner_node.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

using federation::CountsReceived;
using federation::EpochReported;
using federation::LearnerJoined;
using federation::LearnerLeft;
using federation::UpdateId;
using federation::UpdateReceived;

constexpr LearnerId kLearner(1);

// One machine and a controller that only notes what it hears, and when.
class LearnerNodeTest : public testing::Test, public ControllerInbox {
 protected:
  struct Heard {
    Instant time;
    drivers::FromParticipant message;
  };

  void Build(std::string_view policy, const FaultRates& rates = {},
             Duration batch_time = Duration::Milliseconds(400)) {
    settings_ = SmallFederation(policy, 3);
    settings_.trigger.local_epochs = 2;
    workload_ = SmallWorkload(3, federation::NeedsValidationSet(settings_.policy));
    world_ = std::make_unique<World>(rates, 3);
    world_->controller = this;
    world_->network.SetLink(kLearner, {Duration::Milliseconds(20), 0});
    node_ = std::make_unique<LearnerNode>(
        *world_, *workload_, settings_,
        DeviceGroup{.name = "fast",
                    .batch_time = batch_time,
                    .evaluation_batch_time = Duration::Milliseconds(100)},
        kLearner, 3);
  }
  void Receive(const drivers::FromParticipant& message) override {
    heard_.push_back({world_->queue.now(), message});
  }

  void Run(double seconds) { RunUntil(world_->queue, At(seconds)); }
  void Accept(uint32_t life) {
    node_->Receive(federation::AcceptJoin{kLearner, Incarnation(life)});
  }
  void SendModel(uint32_t life) {
    federation::SendCommunity message;
    message.learner = kLearner;
    message.incarnation = Incarnation(life);
    message.model = workload_->initial();
    node_->Receive(message);
  }
  void Ask(uint32_t from, uint64_t sequence) {
    node_->Receive(federation::RequestEvaluation{
        kLearner, Incarnation(1), UpdateId{LearnerId(from), Incarnation(1), Sequence(sequence)},
        workload_->initial()});
  }
  template <typename T>
  std::vector<std::pair<double, T>> All() const {
    std::vector<std::pair<double, T>> found;
    for (const Heard& each : heard_) {
      if (!each.message.event) continue;
      if (const T* event = std::get_if<T>(&*each.message.event)) {
        found.emplace_back(each.time.seconds(), *event);
      }
    }
    return found;
  }
  double Epoch() const {
    return 0.4 * static_cast<double>(workload_->MakeTrainer(kLearner)->steps_per_epoch());
  }
  double Evaluation() const {
    return 0.1 * static_cast<double>(workload_->MakeEvaluator(kLearner)->batches());
  }

  federation::Settings settings_;
  std::unique_ptr<BuiltinWorkload> workload_;
  std::unique_ptr<World> world_;
  std::unique_ptr<LearnerNode> node_;
  std::vector<Heard> heard_;
};

TEST_F(LearnerNodeTest, AnEpochTakesItsStepsTimesTheBatchTime) {
  Build("async-fedavg");
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(2 * Epoch() + 1);
  auto epochs = All<EpochReported>();
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_NEAR(epochs[0].first, Epoch() + 0.02, 1e-9);
  EXPECT_NEAR(epochs[1].first, 2 * Epoch() + 0.02, 1e-9);
  auto updates = All<UpdateReceived>();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_NEAR(updates[0].first, epochs[1].first, 1e-9);
  EXPECT_EQ(updates[0].second.steps, 2 * workload_->MakeTrainer(kLearner)->steps_per_epoch());
}

TEST_F(LearnerNodeTest, AnEpochOfMillenniaIsUnderWayForever) {
  Build("async-fedavg", {}, Duration::Forever());
  ASSERT_GT(workload_->MakeTrainer(kLearner)->steps_per_epoch(), 3u) << "more than an Instant has";
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(3600);
  EXPECT_EQ(All<LearnerJoined>().size(), 1u);
  EXPECT_TRUE(All<EpochReported>().empty());
}

TEST_F(LearnerNodeTest, AValidationSetCostsTheTimeToEvaluateItAndIsCounted) {
  Build("async-dvw");
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(2 * Epoch() + Evaluation() + 1);
  auto updates = All<UpdateReceived>();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_NEAR(updates[0].first, 2 * Epoch() + Evaluation() + 0.02, 1e-9);
  EXPECT_EQ(updates[0].second.own_counts.AsConfusion().RowSums(),
            workload_->MakeEvaluator(kLearner)->declared().class_counts());
}

TEST_F(LearnerNodeTest, ACrashDropsWhatWasUnderWayAndTheReturnIsANewLife) {
  Build("async-fedavg");
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(Epoch() + 0.1);
  node_->Crash();
  EXPECT_FALSE(node_->up());
  Run(100);
  EXPECT_EQ(All<EpochReported>().size(), 1u) << "a dead machine says nothing";
  node_->Start();
  Run(101);
  auto joins = All<LearnerJoined>();
  ASSERT_EQ(joins.size(), 2u);
  EXPECT_EQ(joins[1].second.incarnation, Incarnation(2));
  Accept(1);  // for its former life
  SendModel(1);
  EXPECT_EQ(node_->session()->state(), federation::LearnerSession::State::kJoining);
  Accept(2);
  SendModel(2);
  Run(101 + Epoch() + 0.1);
  EXPECT_EQ(All<EpochReported>().back().second.incarnation, Incarnation(2));
}

TEST_F(LearnerNodeTest, AFrozenMachineIsSilentAndGoesOnAfterwards) {
  Build("async-dvw");
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(1);
  node_->PauseUntil(At(60));
  size_t before = heard_.size();
  Ask(0, 1);
  Run(59.9);
  EXPECT_EQ(heard_.size(), before);
  Run(61);
  EXPECT_EQ(All<EpochReported>().size(), 1u);
  EXPECT_NEAR(All<EpochReported>()[0].first, 60.02, 1e-9);
  EXPECT_GT(world_->faults.struck()[static_cast<size_t>(Fault::kLearnerPause)], 0u);
}

TEST_F(LearnerNodeTest, LeavingSaysGoodbyeUnlessTheMachineIsFrozen) {
  Build("async-fedavg");
  node_->Start();
  node_->Leave();
  Run(1);
  EXPECT_EQ(All<LearnerLeft>().size(), 1u);
  EXPECT_FALSE(node_->up());
  node_->Start();
  node_->PauseUntil(At(60));
  node_->Leave();
  Run(30);
  EXPECT_EQ(All<LearnerLeft>().size(), 1u);
  node_->Start();  // a restart ends the freeze
  Run(31);
  EXPECT_EQ(All<LearnerJoined>().back().second.incarnation, Incarnation(3));
}

TEST_F(LearnerNodeTest, TheEvaluatorAnswersOneAfterTheOtherInTheOrderAsked) {
  Build("async-dvw");
  node_->Start();
  Accept(1);
  Ask(2, 5);
  Ask(0, 9);
  Ask(0, 9);  // a duplicate while it waits
  Ask(2, 6);
  node_->Receive(federation::CancelEvaluation{kLearner, Incarnation(1),
                                              UpdateId{LearnerId(0), Incarnation(1), Sequence(9)}});
  Ask(0, 10);
  Run(30);
  auto answers = All<CountsReceived>();
  ASSERT_EQ(answers.size(), 3u);
  const uint64_t sequences[] = {5, 6, 10};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answers[i].second.update.sequence, Sequence(sequences[i]));
    EXPECT_NEAR(answers[i].first, static_cast<double>(i + 1) * Evaluation() + 0.02, 1e-9);
    EXPECT_EQ(answers[i].second.counts.AsConfusion().RowSums(),
              workload_->MakeEvaluator(kLearner)->declared().class_counts());
  }
}

TEST_F(LearnerNodeTest, ABrokenLearnerSendsWhatTheFaultsSay) {
  Build("async-dvw", {.forged_counts = 1, .nan_update = 1});
  node_->Start();
  Accept(1);
  SendModel(1);
  Ask(0, 1);
  Run(2 * Epoch() + 1);
  auto updates = All<UpdateReceived>();
  ASSERT_GE(updates.size(), 1u);
  EXPECT_FALSE(std::isfinite(updates[0].second.model->Magnitude()));
  auto declared = workload_->MakeEvaluator(kLearner)->declared().class_counts();
  EXPECT_NE(updates[0].second.own_counts.AsConfusion().RowSums(), declared);
  ASSERT_EQ(All<CountsReceived>().size(), 1u);
  EXPECT_NE(All<CountsReceived>()[0].second.counts.AsConfusion().RowSums(), declared);
}

TEST_F(LearnerNodeTest, AHugeUpdateASilentEvaluatorAndAnEarlierLifesUpdate) {
  Build("async-dvw", {.silent_evaluator = 1, .huge_update = 1, .stale_update = 1});
  node_->Start();
  Accept(1);
  SendModel(1);
  Ask(0, 1);
  Run(2 * Epoch() + 1);
  EXPECT_TRUE(All<CountsReceived>().empty());
  ASSERT_EQ(All<UpdateReceived>().size(), 1u);
  EXPECT_FLOAT_EQ(All<UpdateReceived>()[0].second.model->Magnitude(), 1e12f);
  node_->Crash();
  heard_.clear();
  node_->Start();
  Accept(2);
  SendModel(2);
  Run(4 * Epoch() + 2);
  auto updates = All<UpdateReceived>();
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].second.id.incarnation, Incarnation(1));
  EXPECT_EQ(updates[1].second.id.incarnation, Incarnation(2));
}

TEST_F(LearnerNodeTest, ADismissedLearnerEnds) {
  Build("async-fedavg");
  node_->Start();
  node_->Receive(federation::Dismiss{kLearner, Incarnation(1), "the federation has finished"});
  EXPECT_FALSE(node_->up());
  Run(1);
  size_t heard = heard_.size();
  Run(1000);
  EXPECT_EQ(heard_.size(), heard) << "no heartbeat after the end";
}

}  // namespace
}  // namespace metis::sim
