#include "metis/federation/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const LearnerId kAda{1}, kBob{2}, kCyd{3};

// Anna holds 10 validation examples, Bert 20, Cleo 30; the requester's own counts are 3 of 5 right.
class EvaluationTest : public testing::Test {
 protected:
  EvaluationTest() {
    round_.Ask(kAda, kFirstLife, {4, 6});
    round_.Ask(kBob, kFirstLife, {15, 5});
    round_.Ask(kCyd, kSecondLife, {10, 20});
  }
  EvaluationRound round_{CountsOf({2, 3}, 3)};
};

TEST_F(EvaluationTest, PoolsWhatArrivesUntilNobodyIsAwaited) {
  EXPECT_THAT(round_.awaited(), ElementsAre(kAda, kBob, kCyd));
  ASSERT_TRUE(round_.Answer(kBob, CountsOf({15, 5}, 18)).ok());
  EXPECT_FALSE(round_.complete());
  ASSERT_TRUE(round_.Answer(kAda, CountsOf({4, 6}, 2)).ok());
  ASSERT_TRUE(round_.Answer(kCyd, CountsOf({10, 20}, 7)).ok());
  EXPECT_TRUE(round_.complete());
  Evaluation others = round_.Gathered(false);
  EXPECT_EQ(others.pooled.AsConfusion().correct(), 27u);
  EXPECT_EQ(others.pooled.examples(), 60u);
  EXPECT_EQ(others.coverage, 1);
  Evaluation all = round_.Gathered(true);
  EXPECT_EQ(all.pooled.AsConfusion().correct(), 30u);
  EXPECT_EQ(all.pooled.examples(), 65u);
}

TEST_F(EvaluationTest, AwaitsAnEvaluatorInTheLifeThatWasAskedOnly) {
  EXPECT_TRUE(round_.Awaits(kCyd, kSecondLife));
  EXPECT_FALSE(round_.Awaits(kCyd, kFirstLife));
  EXPECT_FALSE(round_.Awaits(LearnerId(9), kFirstLife));
  ASSERT_TRUE(round_.Answer(kCyd, CountsOf({10, 20}, 7)).ok());
  EXPECT_FALSE(round_.Awaits(kCyd, kSecondLife));
}

TEST_F(EvaluationTest, CoverageCountsExamplesNotHeads) {
  ASSERT_TRUE(round_.Answer(kCyd, CountsOf({10, 20}, 7)).ok());
  round_.Silent(kAda);
  round_.Silent(kBob);
  EXPECT_TRUE(round_.complete());
  EXPECT_EQ(round_.Gathered(true).coverage, 0.5);
}

TEST_F(EvaluationTest, AForgedAnswerIsRefusedAndNoLongerAwaited) {
  Result<void> answer = round_.Answer(kBob, CountsOf({15, 6}, 18));
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message, HasSubstr("class 1"));
  EXPECT_THAT(round_.awaited(), ElementsAre(kAda, kCyd));
  EXPECT_EQ(round_.Gathered(false).pooled.examples(), 0u);
  round_.Close();
  EXPECT_EQ(round_.Gathered(false).coverage, 0);
}

TEST_F(EvaluationTest, WhoeverIsGoneCountsOnlyIfItHasAnswered) {
  ASSERT_TRUE(round_.Answer(kAda, CountsOf({4, 6}, 2)).ok());
  round_.Gone(kAda);
  round_.Gone(kCyd);
  EXPECT_THAT(round_.awaited(), ElementsAre(kBob));
  round_.Silent(kBob);
  EXPECT_DOUBLE_EQ(round_.Gathered(false).coverage, 10.0 / 30);
}

TEST_F(EvaluationTest, AfterTheDeadlineAnswersComeTooLate) {
  ASSERT_TRUE(round_.Answer(kAda, CountsOf({4, 6}, 2)).ok());
  round_.Close();
  EXPECT_TRUE(round_.complete());
  EXPECT_THAT(round_.awaited(), IsEmpty());
  EXPECT_FALSE(round_.Awaits(kBob, kFirstLife));
  EXPECT_DOUBLE_EQ(round_.Gathered(false).coverage, 10.0 / 60);
}

TEST(EvaluationRound, WhereNobodyCouldBeAskedTheOwnCountsAreAllThereIs) {
  EvaluationRound round(CountsOf({2, 3}, 3));
  EXPECT_TRUE(round.complete());
  EXPECT_EQ(round.Gathered(true).coverage, 1);
  EXPECT_EQ(round.Gathered(true).pooled.examples(), 5u);
  EXPECT_EQ(round.Gathered(false).pooled.examples(), 0u);
}

TEST(EvaluationRound, StatisticsThatCannotBePooledAreRefusedAndNoLongerAwaited) {
  EvaluationRound round;
  round.Ask(kAda, kFirstLife, {4, 6});
  round.Ask(kBob, kFirstLife, RegressionSums::Declaration{5});
  RegressionSums sums;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(sums.Count(i, i + 0.5));
  ASSERT_TRUE(round.Answer(kAda, CountsOf({4, 6}, 2)));
  EXPECT_THAT(round.Answer(kBob, sums).error().message, HasSubstr("cannot be pooled"));
  EXPECT_TRUE(round.complete());
  EXPECT_DOUBLE_EQ(round.Gathered(false).coverage, 10.0 / 15);
  EXPECT_EQ(round.Gathered(false).pooled, Statistics(CountsOf({4, 6}, 2)));
}

TEST(EvaluationRound, OwnCountsThatCannotBePooledAreLeftOut) {
  EvaluationRound round(*ConfusionCounts::FromCounts(1, {ConfusionCounts::kMaxExamples}));
  round.Ask(kAda, kFirstLife, {4});
  ASSERT_TRUE(round.Answer(kAda, *ConfusionCounts::FromCounts(1, {4})));
  EXPECT_EQ(round.Gathered(true).pooled.examples(), 4u);
}

}  // namespace
}  // namespace metis::federation
