// The single oracles, by hand-made numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"
#include "metis/sim/community_oracle.h"
#include "metis/sim/cycle_oracle.h"

namespace metis::sim {
namespace {

using federation::CountsOf;
using federation::CycleReason;
using federation::CycleRecord;
using federation::UpdateId;
using testing::HasSubstr;

constexpr LearnerId kSlow(4);

// --- The trigger
// -----------------------------------------------------------------------------------

class CycleOracleTest : public testing::Test {
 protected:
  CycleOracleTest() {
    settings_.policy = *policy::PolicyNamed("async-dvw-adaptive");
    policy::Set(settings_, "trigger.vc_loss_pct", 0.0);
    policy::Set(settings_, "trigger.vc_tombstones", 4);
    policy::SetOfGroup(settings_, "slow", "trigger.vc_loss_pct", 1.0);
    policy::SetOfGroup(settings_, "slow", "trigger.vc_tombstones", 1);
    policy::Set(settings_, "trigger.staleness_window", 3);
    policy::Set(settings_, "trigger.max_epochs", 6);
    oracle_.LifeBegins(kSlow, "slow");
  }
  // What is wrong with asking, or not, after these losses.
  std::string Decided(std::vector<double> losses, bool asked, CycleReason reason,
                      uint64_t staleness = 0) {
    CycleRecord record;
    record.cycle = 1;
    record.epochs = losses.size() - 1;
    record.losses = std::move(losses);
    record.reason = reason;
    record.staleness = staleness;
    return oracle_.EpochDecided(kSlow, record, asked).value_or("");
  }

  federation::Settings settings_;
  CycleOracle oracle_{settings_};
};

TEST_F(CycleOracleTest, TombstonesNeedNotBeConsecutive) {
  EXPECT_EQ(Decided({2, 2.1, 1.5}, false, CycleReason::kMaxEpochs), "");
  EXPECT_EQ(Decided({2, 2.1, 1.5, 1.6}, true, CycleReason::kC1), "");
  EXPECT_EQ(Decided({2, 2.1, 1.5, 1.49}, true, CycleReason::kC2), "");
  EXPECT_THAT(Decided({2, 2.1, 1.5, 1.6}, false, CycleReason::kMaxEpochs),
              HasSubstr("did not ask after epoch 3"));
  EXPECT_THAT(Decided({2, 2.1, 1.5}, true, CycleReason::kC1), HasSubstr("not yet"));
  EXPECT_THAT(Decided({2, 2.1, 1.5, 1.6}, true, CycleReason::kC2), HasSubstr("not C1"));
}

TEST_F(CycleOracleTest, ALossThatIsNoNumberIsAFailure) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Decided({2, nan, 1}, true, CycleReason::kC1), "");
  EXPECT_EQ(Decided({0, 0, 0}, true, CycleReason::kC1), "");
}

TEST_F(CycleOracleTest, AfterTheWindowTheMedianOfItsStalenessLimits) {
  for (uint64_t staleness : {90u, 10u, 40u}) {
    EXPECT_EQ(Decided({2, 2, 2}, true, CycleReason::kC1, staleness), "");
  }
  EXPECT_EQ(Decided({2, 1}, false, CycleReason::kMaxEpochs, 40), "");
  EXPECT_EQ(Decided({2, 1}, true, CycleReason::kC3, 41), "");
  EXPECT_NE(Decided({2, 1}, false, CycleReason::kMaxEpochs, 41), "");
  EXPECT_NE(Decided({2, 1}, true, CycleReason::kC3, 40), "");
  oracle_.LifeBegins(kSlow, "slow");  // a new life has a window of its own
  EXPECT_EQ(Decided({2, 1}, false, CycleReason::kMaxEpochs, 500), "");
}

TEST_F(CycleOracleTest, ACycleEndsAtItsLastEpoch) {
  EXPECT_EQ(Decided({64, 32, 16, 8, 4, 2, 1}, true, CycleReason::kMaxEpochs), "");
  EXPECT_NE(Decided({64, 32, 16, 8, 4, 2, 1}, false, CycleReason::kMaxEpochs), "");
}

// --- Contributions
// -----------------------------------------------------------------------------------

class EvaluationOracleTest : public testing::Test {
 protected:
  EvaluationOracleTest() {
    for (uint32_t k = 0; k < 3; ++k) {
      federation::LearnerJoined joined;
      joined.learner = LearnerId(k);
      joined.incarnation = Incarnation(1);
      joined.validation_counts = federation::ValidationCounts(k);
      oracle_.Joined(joined);
    }
    federation::UpdateReceived update;
    update.id = id_;
    update.own_counts = CountsOf(federation::ValidationCounts(0), 5);  // all 5 right
    oracle_.Accepted(update, Instant());
    for (uint32_t k : {1u, 2u}) {
      oracle_.Asked({LearnerId(k), Incarnation(1), id_, nullptr});
    }
  }
  void Count(uint32_t evaluator, uint64_t right) {
    oracle_.Counted({LearnerId(evaluator), Incarnation(1), id_,
                     CountsOf(federation::ValidationCounts(evaluator), right)});
  }
  std::string Weighed(double contribution, double coverage, bool kept_previous, double previous) {
    federation::CommittedUpdate update;
    update.id = id_;
    update.contribution = contribution;
    update.coverage = coverage;
    update.kept_previous = kept_previous;
    return oracle_.Committed(update, previous).value_or("");
  }

  const UpdateId id_{LearnerId(0), Incarnation(1), Sequence(1)};
  federation::Models models_;
  const federation::Settings settings_ = federation::SettingsFor("async-dvw", 3);
  const CommunityOracle community_{settings_, *models_.From(0)};
  EvaluationOracle oracle_{settings_, community_};
};

// Validation examples: 5 of learner 0, 8 of learner 1, 11 of learner 2.
TEST_F(EvaluationOracleTest, PoolsWhatWasAskedForOnce) {
  Count(1, 2);
  Count(2, 6);
  Count(2, 11);  // too late: it has answered
  EXPECT_EQ(Weighed(13.0 / 24, 1, false, 0.9), "");
  EXPECT_NE(Weighed(0.9, 1, false, 0.9), "");
  EXPECT_NE(Weighed(13.0 / 24, 0.5, false, 0.9), "");
}

TEST_F(EvaluationOracleTest, TooLittleCoverageKeepsThePreviousContribution) {
  Count(1, 8);
  EXPECT_FALSE(
      oracle_.TooLate({LearnerId(2), Incarnation(1), id_},
                      Instant() + settings_.policy.weighting->evaluation(settings_).deadline));
  Count(2, 11);
  EXPECT_EQ(Weighed(0.25, 8.0 / 19, true, 0.25), "");
  EXPECT_NE(Weighed(13.0 / 13, 8.0 / 19, false, 0.25), "");
}

TEST_F(EvaluationOracleTest, NobodyIsTooLateBeforeTheDeadline) {
  EXPECT_THAT(oracle_.TooLate({LearnerId(2), Incarnation(1), id_}, Instant() + Duration::Seconds(1))
                  .value_or(""),
              HasSubstr("learner 2 had 1.000 s to evaluate the update of learner 0"));
}

TEST_F(EvaluationOracleTest,
       ForgedCountsCountAgainstCoverageAndALaterEndOfTheirSenderChangesNothing) {
  oracle_.Counted({LearnerId(1), Incarnation(1), id_, CountsOf({100, 200}, 300)});
  Count(2, 6);
  EXPECT_EQ(Weighed(0.5, 11.0 / 19, true, 0.5), "");
  oracle_.Gone(LearnerId(1));
  EXPECT_EQ(Weighed(0.5, 11.0 / 19, true, 0.5), "");
}

TEST_F(EvaluationOracleTest, WhoIsGoneBeforeTheOthersHaveAnsweredDoesNotCount) {
  oracle_.Failed({LearnerId(1), Incarnation(1), id_});
  oracle_.Gone(LearnerId(1));
  Count(2, 6);
  EXPECT_EQ(Weighed(11.0 / 16, 1, false, 0.5), "");
}

}  // namespace
}  // namespace metis::sim
