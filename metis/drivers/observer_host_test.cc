#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/drivers/processes.h"
#include "metis/drivers/testing.h"

namespace metis::drivers {
namespace {

constexpr LearnerId kObserver(9);
constexpr Incarnation kObserverLife(4);

// Of a set of `examples` on which the loss is the first parameter plus `shift`.
class PartOfTestSet final : public learner::Evaluator {
 public:
  PartOfTestSet(uint64_t examples, double shift, Gate& gate)
      : examples_(examples), shift_(shift), gate_(gate) {}
  Result<learner::Evaluation> Evaluate(const Model& model) override {
    gate_.Pass();
    if (model.parameters()[0] < 0) return Invalid("a broken test set");
    learner::Evaluation evaluation;
    ConfusionCounts counts(2);
    counts.Count(1, 1, examples_);
    evaluation.counts = std::move(counts);
    evaluation.loss = static_cast<double>(model.parameters()[0]) + shift_;
    return evaluation;
  }
  Declared declared() const override { return {0, examples_}; }
  uint64_t batches() const override { return 1; }

 private:
  const uint64_t examples_;
  const double shift_;
  Gate& gate_;
};

class ObserverHostTest : public testing::Test {
 protected:
  void Start(Duration retry = Duration::Hours(1)) {
    ObserverHostOptions options;
    options.declared.learner = kObserver;
    options.declared.incarnation = kObserverLife;
    options.declared.role = federation::Role::kObserver;
    options.retry = retry;
    std::vector<std::unique_ptr<learner::Evaluator>> testers;
    testers.push_back(std::make_unique<PartOfTestSet>(10, 0, gate_));
    testers.push_back(std::make_unique<PartOfTestSet>(30, 1, gate_));
    host_ = std::make_unique<ObserverProcess>(std::move(options), std::move(testers), transport_,
                                              [](const std::string&) {});
    host_->Start();
  }
  federation::RequestTest Request(uint64_t version, float value) {
    return {kObserver, kObserverLife, Version(version),
            pool_.Copy(std::vector<float>{value, 0, 0})};
  }

  Gate gate_;
  ModelPool pool_{SmallSchema()};
  FakeTransport transport_;
  std::unique_ptr<ObserverProcess> host_;
};

TEST_F(ObserverHostTest, JoinsUntilItIsAccepted) {
  Start(Duration::Milliseconds(2));
  EXPECT_EQ(transport_.Next<federation::LearnerJoined>(3).role, federation::Role::kObserver);
  host_->Receive(federation::AcceptJoin{kObserver, kObserverLife});
  host_->Receive(Request(1, 2));
  transport_.Next<federation::CommunityTested>();
  // At most one more was on its way when the acceptance came.
  const size_t joined = transport_.Count<federation::LearnerJoined>();
  host_->Receive(Request(2, 2));
  transport_.Next<federation::CommunityTested>(2);
  EXPECT_EQ(transport_.Count<federation::LearnerJoined>(), joined);
}

TEST_F(ObserverHostTest, JoinsOnceMoreInEveryNewConversation) {
  Start();
  transport_.Next<federation::LearnerJoined>(1);
  host_->Reconnected();  // not accepted yet: it asks by itself
  host_->Receive(federation::AcceptJoin{kObserver, kObserverLife});
  host_->Reconnected();
  transport_.Next<federation::LearnerJoined>(2);
  host_->Receive(federation::AcceptJoin{kObserver, kObserverLife});
  host_->Receive(Request(1, 2));
  transport_.Next<federation::CommunityTested>();
  EXPECT_EQ(transport_.Count<federation::LearnerJoined>(), 2u);
}

TEST_F(ObserverHostTest, AVersionThatIsAnotherModelNowIsTestedAgain) {
  gate_.Close();
  Start();
  host_->Receive(federation::AcceptJoin{kObserver, kObserverLife});
  for (uint64_t version : {5u, 6u}) host_->Receive(Request(version, 2));
  gate_.AwaitArrivals(2);  // 5 is under way
  host_->Receive(Request(5, 7));
  host_->Receive(Request(5, 7));
  host_->Receive(Request(6, 3));
  gate_.Open(100);
  const auto fifth = transport_.Next<federation::CommunityTested>(1);
  EXPECT_EQ(fifth.version, Version(5));
  EXPECT_EQ(fifth.loss, (10 * 7.0 + 30 * 8.0) / 40);
  const auto sixth = transport_.Next<federation::CommunityTested>(2);
  EXPECT_EQ(sixth.version, Version(6)) << "the latest that is tested is the latest that there is";
  EXPECT_EQ(sixth.loss, (10 * 3.0 + 30 * 4.0) / 40);
  host_->Receive(Request(8, 1));
  EXPECT_EQ(transport_.Next<federation::CommunityTested>(3).version, Version(8));
}

TEST_F(ObserverHostTest, AddsUpThePartsOfTheTestSetAndTestsAVersionOnce) {
  gate_.Close();
  Start();
  host_->Receive(federation::AcceptJoin{kObserver, kObserverLife});
  for (uint64_t version : {5u, 6u, 5u, 6u}) {
    host_->Receive(Request(version, static_cast<float>(version)));
  }
  gate_.AwaitArrivals(2);
  gate_.Open(100);
  const auto tested = transport_.Next<federation::CommunityTested>(1);
  EXPECT_EQ(tested.version, Version(5));
  EXPECT_EQ(tested.counts.examples(), 40u);
  EXPECT_EQ(tested.loss, (10 * 5.0 + 30 * 6.0) / 40);
  EXPECT_EQ(transport_.Next<federation::CommunityTested>(2).version, Version(6));
  host_->Receive(Request(7, 1));
  EXPECT_EQ(transport_.Next<federation::CommunityTested>(3).version, Version(7));
}

TEST_F(ObserverHostTest, EndsWhenItIsDismissedRefusedOrItsDataFail) {
  Start();
  host_->Receive(federation::Dismiss{kObserver, Incarnation(1), "not meant"});
  host_->Receive(federation::Dismiss{kObserver, kObserverLife, "over"});
  EXPECT_EQ(host_->Wait().value(), "over");
  Start();
  host_->Receive(federation::RefuseJoin{kObserver, kObserverLife, "another schema"});
  EXPECT_EQ(host_->Wait().error().message, "another schema");
  Start();
  host_->Receive(Request(3, -1));
  EXPECT_THAT(host_->Wait().error().message, testing::HasSubstr("a broken test set"));
}

TEST_F(ObserverHostTest, LeavesWithAFarewell) {
  Start();
  EXPECT_FALSE(host_->WaitFor(Duration()));
  host_->Leave();
  EXPECT_TRUE(host_->Wait());
  EXPECT_EQ(transport_.Next<federation::LearnerLeft>().learner, kObserver);
}

}  // namespace
}  // namespace metis::drivers
