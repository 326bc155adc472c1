#include "metis/sim/stop_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::sim {
namespace {

using federation::StopReason;
using testing::HasSubstr;

class StopOracleTest : public testing::Test {
 protected:
  StopOracleTest() {
    settings_.policy = *policy::PolicyNamed("sync-fedavg");
    federation::LearnerJoined observer;
    observer.learner = LearnerId(9);
    observer.validation_counts = {60, 40};
    oracle_.Joined(observer);
  }
  void Commit(size_t updates) {
    federation::CommunityCommitted commit;
    commit.updates.resize(updates);
    oracle_.Committed(commit);
  }
  void Test(uint64_t version, uint64_t right) {
    oracle_.Asked({LearnerId(9), Incarnation(1), Version(version), nullptr});
    Answer(version, federation::CountsOf({60, 40}, right));
  }
  void Answer(uint64_t version, const ConfusionCounts& counts) {
    oracle_.Tested({.observer = LearnerId(9),
                    .incarnation = Incarnation(1),
                    .version = Version(version),
                    .counts = counts});
  }
  std::string Ended(StopReason reason, double seconds = 0) {
    return oracle_.Ended(reason, Instant() + Duration::FromSeconds(seconds)).value_or("");
  }

  federation::Settings settings_;
  StopOracle oracle_{settings_};
};

TEST_F(StopOracleTest, DurationCountsFromTheBeginning) {
  settings_.stop.duration = Duration::Seconds(100);
  EXPECT_FALSE(oracle_.due());
  oracle_.Runs(Instant() + Duration::Seconds(20));
  oracle_.Runs(Instant() + Duration::Seconds(50));  // after a pause
  EXPECT_EQ(*oracle_.due(), Instant() + Duration::Seconds(120));
  EXPECT_THAT(Ended(StopReason::kDuration, 119), HasSubstr("it finished by duration after"));
  EXPECT_EQ(Ended(StopReason::kDuration, 120), "");
}

TEST_F(StopOracleTest, RoundsAndRequestsEndItWhenTheyAreThere) {
  settings_.stop.rounds = 2;
  settings_.stop.requests = 7;
  Commit(3);
  EXPECT_FALSE(oracle_.GoesOn());
  EXPECT_NE(Ended(StopReason::kRounds), "");
  Commit(3);
  EXPECT_EQ(Ended(StopReason::kRounds), "");
  EXPECT_NE(Ended(StopReason::kRequests), "");
  Commit(1);
  EXPECT_EQ(Ended(StopReason::kRequests), "");
}

TEST_F(StopOracleTest, AWithdrawalIsNoRound) {
  settings_.stop.rounds = 1;
  federation::CommunityCommitted withdrawal;
  withdrawal.withdrawn = LearnerId(2);
  oracle_.Committed(withdrawal);
  EXPECT_FALSE(oracle_.GoesOn());
  Commit(2);
  EXPECT_THAT(oracle_.GoesOn().value_or(""), HasSubstr("it goes on after 1 rounds, 2 requests"));
}

TEST_F(StopOracleTest, ATargetIsReachedByATestThatWasAskedForAndIsOfTheTestSet) {
  settings_.stop.target_accuracy = 0.6;
  Test(0, 59);
  Answer(1, federation::CountsOf({60, 40}, 90));  // nobody asked
  oracle_.Asked({LearnerId(9), Incarnation(1), Version(2), nullptr});
  Answer(2, federation::CountsOf({30, 20}, 50));  // of another set
  Answer(2, federation::CountsOf({60, 40}, 90));  // it has answered
  EXPECT_FALSE(oracle_.GoesOn());
  Test(3, 60);
  EXPECT_TRUE(oracle_.GoesOn());
  EXPECT_EQ(Ended(StopReason::kTargetAccuracy), "");
  EXPECT_FALSE(oracle_.GoesOn()) << "it has ended";
}

TEST_F(StopOracleTest, PatienceCountsTestsThatAreNoBetterThanTheBest) {
  settings_.stop.patience = 2;
  Test(0, 50);
  Test(1, 60);
  Test(2, 60);
  EXPECT_FALSE(oracle_.GoesOn());
  Test(3, 10);
  EXPECT_TRUE(oracle_.GoesOn());
  EXPECT_EQ(Ended(StopReason::kPatience), "");
}

TEST_F(StopOracleTest, AnOperatorsEndNeedsAnOperator) {
  EXPECT_NE(Ended(StopReason::kOperator), "");
  oracle_.Ordered();
  EXPECT_EQ(Ended(StopReason::kOperator), "");
}

}  // namespace
}  // namespace metis::sim
