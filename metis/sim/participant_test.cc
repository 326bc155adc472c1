#include "metis/sim/participant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metis/policy/policy.h"
#include "metis/sim/testing.h"
#include "metis/work/workload_tools.h"

namespace metis::sim {
namespace {

using federation::CountsReceived;
using federation::EpochReported;
using federation::LearnerJoined;
using federation::LearnerLeft;
using federation::UpdateId;
using federation::UpdateReceived;

constexpr LearnerId kLearner(5);  // its id, as the controller says
constexpr uint32_t kNumber = 1;

// One machine and a controller that only notes what it hears, and when.
class ParticipantTest : public testing::Test, public Switchboard {
 protected:
  struct Heard {
    Instant time;
    drivers::FromParticipant message;
  };

  void Build(std::string_view policy, const FaultRates& rates = {},
             Duration batch_time = Duration::Milliseconds(400)) {
    settings_ = SmallFederation(policy, 3);
    policy::Set(settings_, "trigger.local_epochs", 2);
    workload_ = SmallWorkload(3, federation::NeedsValidationSet(settings_.policy));
    tools_ = std::make_unique<work::WorkloadTools>(*workload_);
    bench_ = std::make_unique<work::ToolBench>(*tools_);
    world_ = std::make_unique<World>(rates, 3);
    world_->bench = bench_.get();
    world_->network.SetLink(kNumber, {Duration::Milliseconds(20), 0});
    node_ = std::make_unique<SimulatedLearner>(
        *world_, *this, *workload_, settings_,
        DeviceGroup{.name = "fast",
                    .batch_time = batch_time,
                    .evaluation_batch_time = Duration::Milliseconds(100)},
        kNumber, 3);
  }
  void Dial(Participant& participant) override {
    ++dialled_;
    if (listens_) participant.Connected(life_, id_);
  }
  void Receive(uint64_t life, const drivers::FromParticipant& message) override {
    if (life == life_) heard_.push_back({world_->queue.now(), message});
  }
  uint64_t life() const override { return life_; }
  uint64_t model_bytes() const override { return workload_->initial()->schema()->bytes(); }

  void Run(double seconds) { RunUntil(world_->queue, At(seconds)); }
  void Accept(uint32_t life) {
    node_->Deliver(federation::AcceptJoin{kLearner, Incarnation(life)});
  }
  void SendModel(uint32_t life) {
    federation::SendCommunity message;
    message.learner = kLearner;
    message.incarnation = Incarnation(life);
    message.model = workload_->initial();
    node_->Deliver(message);
  }
  void Ask(uint32_t from, uint64_t sequence) {
    node_->Deliver(federation::RequestEvaluation{
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
    return 0.4 * static_cast<double>(workload_->MakeTrainer(LearnerId(kNumber))->steps_per_epoch());
  }
  double Evaluation() const {
    return 0.1 * static_cast<double>(workload_->MakeEvaluator(LearnerId(kNumber))->batches());
  }

  federation::Settings settings_;
  std::unique_ptr<builtin::BuiltinWorkload> workload_;
  std::unique_ptr<work::Tools> tools_;
  std::unique_ptr<work::ToolBench> bench_;
  std::unique_ptr<World> world_;
  std::unique_ptr<SimulatedLearner> node_;
  uint64_t life_ = 1;
  LearnerId id_ = kLearner;
  bool listens_ = true;
  int dialled_ = 0;
  std::vector<Heard> heard_;
};

TEST_F(ParticipantTest, AnEpochTakesItsStepsTimesTheBatchTime) {
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
  EXPECT_EQ(updates[0].second.steps,
            2 * workload_->MakeTrainer(LearnerId(kNumber))->steps_per_epoch());
}

TEST_F(ParticipantTest, AnEpochOfMillenniaIsUnderWayForever) {
  Build("async-fedavg", {}, Duration::Forever());
  ASSERT_GT(workload_->MakeTrainer(LearnerId(kNumber))->steps_per_epoch(), 3u)
      << "more than an Instant has";
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(3600);
  EXPECT_EQ(All<LearnerJoined>().size(), 1u);
  EXPECT_TRUE(All<EpochReported>().empty());
}

TEST_F(ParticipantTest, AValidationSetCostsTheTimeToEvaluateItAndIsCounted) {
  Build("async-dvw");
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(2 * Epoch() + Evaluation() + 1);
  auto updates = All<UpdateReceived>();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_NEAR(updates[0].first, 2 * Epoch() + Evaluation() + 0.02, 1e-9);
  EXPECT_EQ(updates[0].second.own_counts.AsConfusion().RowSums(),
            workload_->MakeEvaluator(LearnerId(kNumber))->declared().class_counts());
}

TEST_F(ParticipantTest, ACrashDropsWhatWasUnderWayAndTheReturnIsANewLife) {
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
  Run(101.1);
  EXPECT_EQ(node_->session()->state(), federation::LearnerSession::State::kJoining);
  Accept(2);
  SendModel(2);
  Run(101.1 + Epoch() + 0.1);
  EXPECT_EQ(All<EpochReported>().back().second.incarnation, Incarnation(2));
}

TEST_F(ParticipantTest, AFrozenMachineIsSilentAndGoesOnAfterwards) {
  Build("async-dvw");
  node_->Start();
  Accept(1);
  SendModel(1);
  Run(1);
  node_->FreezeUntil(At(60));
  size_t before = heard_.size();
  Ask(0, 1);
  Run(59.9);
  EXPECT_EQ(heard_.size(), before);
  Run(61);
  EXPECT_EQ(All<EpochReported>().size(), 1u);
  EXPECT_NEAR(All<EpochReported>()[0].first, 60.02, 1e-9);
  EXPECT_GT(world_->faults.struck()[static_cast<size_t>(Fault::kLearnerPause)], 0u);
}

TEST_F(ParticipantTest, LeavingSaysGoodbyeUnlessTheMachineIsFrozen) {
  Build("async-fedavg");
  node_->Start();
  Run(0.5);
  node_->Leave();
  Run(1);
  EXPECT_EQ(All<LearnerLeft>().size(), 1u);
  EXPECT_FALSE(node_->up());
  node_->Start();
  Run(1.5);
  node_->FreezeUntil(At(60));
  node_->Leave();
  Run(30);
  EXPECT_EQ(All<LearnerLeft>().size(), 1u);
  node_->Start();  // a restart ends the freeze
  Run(31);
  EXPECT_EQ(All<LearnerJoined>().back().second.incarnation, Incarnation(3));
}

TEST_F(ParticipantTest, TheEvaluatorAnswersOneAfterTheOtherInTheOrderAsked) {
  Build("async-dvw");
  node_->Start();
  Accept(1);
  Ask(2, 5);
  Ask(0, 9);
  Ask(0, 9);  // a duplicate while it waits
  Ask(2, 6);
  node_->Deliver(federation::CancelEvaluation{kLearner, Incarnation(1),
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
              workload_->MakeEvaluator(LearnerId(kNumber))->declared().class_counts());
  }
}

TEST_F(ParticipantTest, ABrokenLearnerSendsWhatTheFaultsSay) {
  Build("async-dvw", {.forged_counts = 1, .nan_update = 1});
  node_->Start();
  Accept(1);
  SendModel(1);
  Ask(0, 1);
  Run(2 * Epoch() + 1);
  auto updates = All<UpdateReceived>();
  ASSERT_GE(updates.size(), 1u);
  EXPECT_FALSE(std::isfinite(updates[0].second.model->Magnitude()));
  auto declared = workload_->MakeEvaluator(LearnerId(kNumber))->declared().class_counts();
  EXPECT_NE(updates[0].second.own_counts.AsConfusion().RowSums(), declared);
  ASSERT_EQ(All<CountsReceived>().size(), 1u);
  EXPECT_NE(All<CountsReceived>()[0].second.counts.AsConfusion().RowSums(), declared);
}

TEST_F(ParticipantTest, AHugeUpdateASilentEvaluatorAndAnEarlierLifesUpdate) {
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

TEST_F(ParticipantTest, ItDialsUntilItIsAnsweredAndAgainWhenTheConversationBreaks) {
  Build("async-fedavg");
  listens_ = false;
  node_->Start();
  Run(3.5 * settings_.retry.seconds());
  EXPECT_EQ(dialled_, 4);
  EXPECT_TRUE(heard_.empty()) << "nobody to talk to";
  listens_ = true;
  Run(4.5 * settings_.retry.seconds());
  ASSERT_EQ(All<LearnerJoined>().size(), 1u);
  EXPECT_EQ(All<LearnerJoined>()[0].second.learner, kLearner);
  Accept(1);
  life_ = 2;  // the controller was started again
  node_->Broken();
  Run(6 * settings_.retry.seconds());
  EXPECT_EQ(dialled_, 6);
  EXPECT_EQ(node_->session()->incarnation(), Incarnation(1)) << "it is the same life";
}

TEST_F(ParticipantTest, GivenAnotherIdItIsANewLife) {
  Build("async-fedavg");
  node_->Start();
  Accept(1);
  Run(1);
  id_ = LearnerId(8);
  node_->Broken();
  Run(2);
  auto joins = All<LearnerJoined>();
  ASSERT_EQ(joins.size(), 2u);
  EXPECT_EQ(joins[1].second.learner, LearnerId(8));
  EXPECT_EQ(joins[1].second.incarnation, Incarnation(2));
}

TEST_F(ParticipantTest, AnIdleLearnerHoldsNoModel) {
  Build("async-fedavg");
  node_->Start();
  Accept(1);
  const ModelPtr received = workload_->pool().Copy(workload_->initial()->parameters());
  federation::SendCommunity message;
  message.learner = kLearner;
  message.incarnation = Incarnation(1);
  message.model = received;
  node_->Deliver(message);
  message.model.reset();
  Run(2 * Epoch() + 0.1);
  ASSERT_EQ(All<UpdateReceived>().size(), 1u);
  EXPECT_EQ(received.use_count(), 1) << "the model that it began with";
  const ModelPtr sent = All<UpdateReceived>()[0].second.model;
  node_->Deliver(federation::AcknowledgeUpdate{All<UpdateReceived>()[0].second.id});
  Run(2 * Epoch() + 0.2);
  heard_.clear();
  Run(2 * Epoch() + 0.3);
  EXPECT_LE(sent.use_count(), 2) << "the update, beside what faults may replay";
}

TEST_F(ParticipantTest, ADismissedLearnerEnds) {
  Build("async-fedavg");
  node_->Start();
  node_->Deliver(federation::Dismiss{kLearner, Incarnation(1), "the federation has finished"});
  Run(1);
  EXPECT_FALSE(node_->up());
  size_t heard = heard_.size();
  Run(1000);
  EXPECT_EQ(heard_.size(), heard) << "no heartbeat after the end";
}

}  // namespace
}  // namespace metis::sim
