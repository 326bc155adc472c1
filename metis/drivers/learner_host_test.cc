#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "metis/drivers/processes.h"
#include "metis/drivers/testing.h"
#include "metis/policy/policy.h"

namespace metis::drivers {
namespace {

using federation::UpdateReceived;
using testing::HasSubstr;

constexpr LearnerId kLearner(3);
constexpr Incarnation kLearnerLife(2);

class LearnerHostTest : public testing::Test {
 protected:
  LearnerHostTest() {
    settings_.policy = *policy::PolicyNamed("async-dvw");
    policy::Set(settings_, "trigger.local_epochs", 2);
    settings_.retry = Duration::Hours(1);
  }

  void Start(bool with_evaluators = true) {
    LearnerHostOptions options;
    options.settings = settings_;
    options.declared.learner = kLearner;
    options.declared.incarnation = kLearnerLife;
    options.declared.name = "site-3";
    LearnerTools tools;
    tools.trainer = std::make_unique<FakeTrainer>(pool_, epochs_);
    if (with_evaluators) {
      tools.own = std::make_unique<FakeEvaluator>(evaluations_);
      tools.of_others = std::make_unique<FakeEvaluator>(evaluations_);
    }
    host_ = std::make_unique<LearnerProcess>(
        std::move(options), std::move(tools), transport_,
        [this](const std::string& text) {
          std::scoped_lock lock(said_mutex_);
          said_.push_back(text);
        },
        slowdown_);
    host_->Start();
    transport_.Next<federation::LearnerJoined>();
  }
  void Join(bool with_evaluators = true) {
    Start(with_evaluators);
    host_->Receive(federation::AcceptJoin{kLearner, kLearnerLife});
  }

  std::vector<std::string> Said() {
    std::scoped_lock lock(said_mutex_);
    return said_;
  }

  ModelPtr Of(float value) { return pool_.Copy(std::vector<float>{value, 1, 2}); }
  federation::SendCommunity Community(uint64_t version, float value, uint64_t answers = 0,
                                      bool restart = false) {
    return {kLearner,     kLearnerLife,      Version(version), Of(value),
            10 * version, Sequence(answers), restart};
  }
  federation::RequestEvaluation Request(uint32_t from, float value) {
    return {kLearner, kLearnerLife, {LearnerId(from), Incarnation(1), Sequence(1)}, Of(value)};
  }
  // Waits until the operator sees that.
  template <typename F>
  void AwaitProgress(F seen) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!seen(host_->progress())) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  federation::Settings settings_;
  double slowdown_ = 0;
  ModelPool pool_{SmallSchema()};
  Gate epochs_, evaluations_;
  FakeTransport transport_;
  std::mutex said_mutex_;
  std::vector<std::string> said_;
  std::unique_ptr<LearnerProcess> host_;
};

TEST_F(LearnerHostTest, TrainsFromEachModelAndSendsTheUpdateWithItsOwnCounts) {
  Join();
  host_->Receive(Community(0, 5));
  const UpdateReceived first = transport_.Next<UpdateReceived>();
  EXPECT_EQ(first.id, (federation::UpdateId{kLearner, kLearnerLife, Sequence(1)}));
  EXPECT_EQ(first.steps, 14u);
  EXPECT_EQ(first.model->parameters()[0], 7);
  EXPECT_EQ(first.own_counts.AsConfusion().at(0, 1), 7u);
  EXPECT_EQ(transport_.Count<federation::EpochReported>(), 2u);
  EXPECT_EQ(evaluations_.came(), 1u)
      << "without the adaptive trigger only what is sent is evaluated";

  host_->Receive(federation::AcknowledgeUpdate{first.id});
  host_->Receive(federation::AcknowledgeUpdate{first.id});
  host_->Receive(Community(4, 20, 1));
  host_->Receive(Community(4, 20, 1));
  const UpdateReceived second = transport_.Next<UpdateReceived>(2);
  EXPECT_EQ(second.base, Version(4));
  EXPECT_EQ(second.model->parameters()[0], 22);
  host_->Receive(federation::RejectUpdate{second.id, federation::RejectReason::kGate, "too large"});
  AwaitProgress([](const LearnerProgress& seen) { return seen.updates_refused == 1; });
  const LearnerProgress seen = host_->progress();
  EXPECT_EQ(seen.updates_acknowledged, 1u);
  EXPECT_EQ(seen.version, 4u);
  EXPECT_EQ(seen.cycle, 2u);
  EXPECT_EQ(seen.epoch, 2u);
  EXPECT_EQ(seen.examples_trained, 280u);
  EXPECT_EQ(seen.training_loss, 0.5);
  EXPECT_EQ(seen.state, "waiting for a community model");
}

TEST_F(LearnerHostTest, SaysOfEveryUpdateOnceThatItIsAcknowledged) {
  Join();
  host_->Receive(Community(0, 5));
  const UpdateReceived first = transport_.Next<UpdateReceived>();
  host_->Receive(federation::AcknowledgeUpdate{first.id});
  host_->Receive(federation::AcknowledgeUpdate{first.id});
  host_->Receive(Community(1, 20, 1));
  transport_.Next<UpdateReceived>(2);
  host_->Receive(Community(2, 30, 2));  // its acknowledgement was lost on the way
  const UpdateReceived third = transport_.Next<UpdateReceived>(3);
  host_->Receive(federation::RejectUpdate{third.id, federation::RejectReason::kGate, "too large"});
  AwaitProgress([&](const LearnerProgress&) { return Said().size() >= 7; });
  EXPECT_THAT(Said(),
              testing::ElementsAre("accepted by the controller (learner 3, incarnation 2)",
                                   "trains from version 0", "update 1 is acknowledged",
                                   "trains from version 1", "update 2 is acknowledged",
                                   "trains from version 2", "update 3 was refused: too large"));
}

TEST_F(LearnerHostTest, TheAdaptiveTriggerSeesTheLossOfTheReceivedModelAndOfEveryEpoch) {
  settings_.policy = *policy::PolicyNamed("async-dvw-adaptive");
  policy::Set(settings_, "trigger.max_epochs", 3);
  Join();
  host_->Receive(Community(0, 4));
  const UpdateReceived update = transport_.Next<UpdateReceived>();
  ASSERT_GE(update.cycle.losses.size(), 2u);
  EXPECT_EQ(update.cycle.losses[0], 1.0 / 4);
  EXPECT_EQ(update.cycle.losses[1], 1.0 / 5);
  EXPECT_EQ(evaluations_.came(), update.cycle.losses.size()) << "none is evaluated twice";
  EXPECT_EQ(update.own_counts.examples(), 4 + update.cycle.epochs);
}

TEST_F(LearnerHostTest, WithoutAValidationSetCountsAreEmptyAndRequestsFail) {
  settings_.policy = *policy::PolicyNamed("async-fedavg");
  Join(false);
  host_->Receive(Community(0, 5));
  EXPECT_TRUE(transport_.Next<UpdateReceived>().own_counts.none());
  host_->Receive(Request(8, 9));
  EXPECT_EQ(transport_.Next<federation::EvaluationFailed>().update.learner, LearnerId(8));
}

TEST_F(LearnerHostTest, ANewerModelStopsTheEpochUnderWayAndItsOutcomeIsDropped) {
  epochs_.Close();
  Join();
  host_->Receive(Community(0, 5));
  epochs_.AwaitArrivals(1);
  host_->Receive(Community(9, 100, 0, true));
  epochs_.AwaitArrivals(2);
  epochs_.Open(2);
  const UpdateReceived update = transport_.Next<UpdateReceived>();
  EXPECT_EQ(update.base, Version(9));
  EXPECT_EQ(update.model->parameters()[0], 102);
  EXPECT_EQ(transport_.Count<federation::EpochReported>(), 2u);
  EXPECT_FALSE(host_->WaitFor(Duration())) << "a stopped epoch is no failure";
}

TEST_F(LearnerHostTest, EvaluatesOneAfterTheOtherBesideTrainingAndEachRequestOnce) {
  epochs_.Close();
  evaluations_.Close();
  Join();
  host_->Receive(Community(0, 5));
  epochs_.AwaitArrivals(1);
  for (uint32_t from : {4u, 5u, 6u, 4u, 6u}) {
    host_->Receive(Request(from, static_cast<float>(10 * from)));
  }
  evaluations_.AwaitArrivals(1);
  host_->Receive(federation::CancelEvaluation{
      kLearner, kLearnerLife, {LearnerId(5), Incarnation(1), Sequence(1)}});
  host_->Receive(Request(7, 666));
  host_->Receive(Request(8, 80));
  evaluations_.Open(10);
  EXPECT_EQ(transport_.Next<federation::CountsReceived>(1).counts.examples(), 40u);
  EXPECT_EQ(transport_.Next<federation::CountsReceived>(2).update.learner, LearnerId(6));
  EXPECT_EQ(transport_.Next<federation::EvaluationFailed>().update.learner, LearnerId(7));
  EXPECT_EQ(transport_.Next<federation::CountsReceived>(3).update.learner, LearnerId(8));
  EXPECT_EQ(evaluations_.came(), 4u);
  EXPECT_EQ(host_->progress().models_evaluated, 3u);
  EXPECT_FALSE(host_->WaitFor(Duration())) << "a failed evaluation ends nobody";
}

TEST_F(LearnerHostTest, AsksAgainWhenNobodyAnswers) {
  settings_.retry = Duration::Milliseconds(5);
  Start();
  EXPECT_EQ(transport_.Next<federation::LearnerJoined>(3).name, "site-3");
  host_->Receive(federation::AcceptJoin{kLearner, kLearnerLife});
  transport_.Next<federation::CommunityRequested>(2);
  host_->Receive(Community(0, 5));
  EXPECT_EQ(transport_.Next<UpdateReceived>(3).id.sequence, Sequence(1));
}

TEST_F(LearnerHostTest, MessagesToAnEarlierLifeAreIgnored) {
  Start();
  host_->Receive(federation::Dismiss{kLearner, Incarnation(1), "an old story"});
  host_->Receive(federation::Dismiss{kLearner, kLearnerLife, "the federation is over"});
  EXPECT_EQ(host_->Wait().value(), "the federation is over");
}

TEST_F(LearnerHostTest, DismissalStopsTrainingAndSaysWhy) {
  epochs_.Close();
  Join();
  host_->Receive(Community(0, 5));
  epochs_.AwaitArrivals(1);
  host_->Receive(federation::Dismiss{kLearner, kLearnerLife, "the federation is over"});
  EXPECT_EQ(host_->Wait().value(), "the federation is over");
  EXPECT_EQ(host_->progress().state, "ended");
  host_.reset();  // the epoch was never let through: it was stopped
}

TEST_F(LearnerHostTest, BeingRefusedIsAnError) {
  Start();
  host_->Receive(federation::RefuseJoin{kLearner, kLearnerLife, "another schema"});
  Result<std::string> how = host_->Wait();
  ASSERT_FALSE(how);
  EXPECT_THAT(how.error().message, HasSubstr("another schema"));
}

TEST_F(LearnerHostTest, AFailureOfTrainingOrLoadingEndsItWithThatError) {
  Join();
  host_->Receive(Community(0, 2000));
  Result<std::string> how = host_->Wait();
  ASSERT_FALSE(how);
  EXPECT_THAT(how.error().message, HasSubstr("diverged"));
  Join();
  host_->Receive(Community(0, -1));
  how = host_->Wait();
  ASSERT_FALSE(how);
  EXPECT_THAT(how.error().message, HasSubstr("can't be loaded"));
}

TEST_F(LearnerHostTest, LeavingSaysGoodbyeAndStopsTheEpoch) {
  epochs_.Close();
  Join();
  host_->Receive(Community(0, 5));
  epochs_.AwaitArrivals(1);
  host_->Leave();
  host_->Leave();
  EXPECT_TRUE(host_->Wait());
  EXPECT_EQ(transport_.Next<federation::LearnerLeft>().incarnation, kLearnerLife);
  host_.reset();
  EXPECT_EQ(transport_.Count<federation::LearnerLeft>(), 1u);
  EXPECT_EQ(transport_.Count<UpdateReceived>(), 0u);
}

TEST_F(LearnerHostTest, ASlowdownIsWaitedForAndCanBeInterrupted) {
  slowdown_ = 1e9;
  Join();
  host_->Receive(Community(0, 5));
  epochs_.AwaitArrivals(1);
  host_->Receive(Community(1, 50, 0, true));
  epochs_.AwaitArrivals(2);
  EXPECT_EQ(transport_.Count<federation::EpochReported>(), 0u);
  host_->Leave();
  EXPECT_TRUE(host_->Wait());
  host_.reset();
}

TEST_F(LearnerHostTest, DestructionInTheMiddleOfEverythingEndsAllThreads) {
  epochs_.Close();
  Join();
  host_->Receive(Community(0, 5));
  for (uint32_t from = 4; from < 40; ++from) host_->Receive(Request(from, 10));
  epochs_.AwaitArrivals(1);
  host_.reset();
  const size_t evaluated = evaluations_.came();
  EXPECT_LE(evaluated, 36u);
}

}  // namespace
}  // namespace metis::drivers
