#include "metis/core/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "metis/core/random.h"

namespace metis {
namespace {

using testing::HasSubstr;

constexpr Metric kAllMetrics[] = {Metric::kMicroF1, Metric::kAccuracy, Metric::kMacroF1,
                                  Metric::kGeometricMean, Metric::kMatthews};

ConfusionCounts Counts(uint32_t classes, std::vector<uint64_t> counts) {
  return *ConfusionCounts::FromCounts(classes, std::move(counts));
}

// Rows 6, 10, 4; columns 7, 8, 5; diagonal 5, 7, 3: 15 of 20 are right.
ConfusionCounts UnequalCounts() {
  return Counts(3, {5, 1, 0,  //
                    1, 7, 2,  //
                    1, 0, 3});
}

ConfusionCounts Drawn(uint64_t seed) {
  Random random({.seed = seed, .purpose = Purpose::kTest});
  ConfusionCounts counts(static_cast<uint32_t>(1 + random.Below(12)));
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    for (uint32_t j = 0; j < counts.classes(); ++j) {
      if (random.Chance(0.7)) counts.Count(i, j, random.Below(uint64_t{1} << random.Below(30)));
    }
  }
  return counts;
}

TEST(Confusion, SumsOfRowsColumnsAndDiagonal) {
  ConfusionCounts counts = UnequalCounts();
  EXPECT_EQ(counts.RowSums(), (std::vector<uint64_t>{6, 10, 4}));
  EXPECT_EQ(counts.ColumnSums(), (std::vector<uint64_t>{7, 8, 5}));
  EXPECT_EQ(counts.total(), 20u);
  EXPECT_EQ(counts.correct(), 15u);
  EXPECT_EQ(counts.at(1, 2), 2u);
}

TEST(Confusion, MicroF1EqualsAccuracyForSingleLabelData) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    ConfusionCounts counts = Drawn(seed);
    EXPECT_EQ(MicroF1(counts), Accuracy(counts)) << "seed " << seed;
  }
}

TEST(Confusion, MicroF1ByHand) {
  // TP = 15, FP = (7-5) + (8-7) + (5-3) = 5, FN = (6-5) + (10-7) + (4-3) = 5: 30 / 40.
  EXPECT_DOUBLE_EQ(MicroF1(UnequalCounts()), 0.75);
  EXPECT_DOUBLE_EQ(Accuracy(UnequalCounts()), 0.75);
}

TEST(Confusion, MacroF1ByHand) {
  // F1 of a class is 2 CM[i][i] / (row + column): 10/13, 14/18, 6/9; their mean.
  EXPECT_DOUBLE_EQ(MacroF1(UnequalCounts()), (10.0 / 13 + 14.0 / 18 + 6.0 / 9) / 3);
}

TEST(Confusion, ScoresOfEachClassByHand) {
  std::vector<ClassScores> scores = ScoresByClass(UnequalCounts());
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[1].examples, 10u);
  EXPECT_DOUBLE_EQ(scores[1].precision, 7.0 / 8);
  EXPECT_DOUBLE_EQ(scores[1].recall, 7.0 / 10);
  EXPECT_DOUBLE_EQ(scores[1].f1, 14.0 / 18);
}

TEST(Confusion, AClassThatIsNeitherThereNorPredictedScoresZero) {
  std::vector<ClassScores> scores = ScoresByClass(Counts(3, {2, 1, 0, 0, 3, 0, 0, 0, 0}));
  EXPECT_EQ(scores[2].examples, 0u);
  EXPECT_EQ(scores[2].precision + scores[2].recall + scores[2].f1, 0);
}

TEST(Confusion, GeometricMeanByHand) {
  // Recalls 5/6, 7/10, 3/4: the cube root of 0.4375.
  EXPECT_NEAR(GeometricMean(UnequalCounts()), std::cbrt(0.4375), 1e-15);
}

TEST(Confusion, MatthewsByHand) {
  // correct * total = 15 * 20 = 300; rows times columns = 6*7 + 10*8 + 4*5 = 142: numerator 158.
  // total^2 - sum of columns^2 = 400 - (49+64+25) = 262; rows: 400 - (36+100+16) = 248.
  EXPECT_NEAR(Matthews(UnequalCounts()), 158 / std::sqrt(262.0 * 248.0), 1e-15);
  // Two classes, TP 6, FN 2, FP 1, TN 3: (6*3 - 1*2) / sqrt(7 * 8 * 4 * 5) = 16 / sqrt(1120).
  EXPECT_NEAR(Matthews(Counts(2, {6, 2, 1, 3})), 16 / std::sqrt(1120.0), 1e-15);
}

TEST(Confusion, MatthewsIsOneWhenAllIsRightAndNegativeWhenWorseThanChance) {
  EXPECT_NEAR(Matthews(Counts(2, {7, 0, 0, 3})), 1, 1e-15);
  EXPECT_NEAR(Matthews(Counts(2, {0, 7, 3, 0})), -1, 1e-15);
}

TEST(Confusion, AContributionIsWithinZeroAndOne) {
  EXPECT_EQ(Evaluate(Metric::kMatthews, Counts(2, {0, 7, 3, 0})), 0);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (Metric metric : kAllMetrics) {
      double value = Evaluate(metric, Drawn(seed));
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
    }
  }
  EXPECT_EQ(Evaluate(Metric::kMicroF1, UnequalCounts()), MicroF1(UnequalCounts()));
  EXPECT_EQ(Evaluate(Metric::kAccuracy, UnequalCounts()), Accuracy(UnequalCounts()));
  EXPECT_EQ(Evaluate(Metric::kMacroF1, UnequalCounts()), MacroF1(UnequalCounts()));
  EXPECT_EQ(Evaluate(Metric::kGeometricMean, UnequalCounts()), GeometricMean(UnequalCounts()));
  EXPECT_EQ(Evaluate(Metric::kMatthews, UnequalCounts()), Matthews(UnequalCounts()));
}

TEST(Confusion, WithoutExamplesEveryMetricIsZero) {
  for (Metric metric : kAllMetrics) {
    EXPECT_EQ(Evaluate(metric, ConfusionCounts()), 0);
    EXPECT_EQ(Evaluate(metric, ConfusionCounts(4)), 0);
  }
}

TEST(Confusion, ClassesWithoutExamplesDoNotCount) {
  // Class 1 occurs neither as actual nor as predicted: the metrics are those of the other two.
  ConfusionCounts with_absent = Counts(3, {6, 0, 2,  //
                                           0, 0, 0,  //
                                           1, 0, 3});
  ConfusionCounts without = Counts(2, {6, 2, 1, 3});
  for (Metric metric : kAllMetrics) {
    EXPECT_DOUBLE_EQ(Evaluate(metric, with_absent), Evaluate(metric, without));
  }
  // Class 1 was predicted once but has no examples: F1 counts it with 0, recalls leave it out.
  ConfusionCounts predicted = Counts(3, {6, 1, 1,  //
                                         0, 0, 0,  //
                                         1, 0, 3});
  EXPECT_DOUBLE_EQ(MacroF1(predicted), (12.0 / 15 + 0 + 6.0 / 8) / 3);
  EXPECT_NEAR(GeometricMean(predicted), std::sqrt(6.0 / 8 * 3 / 4), 1e-15);
}

TEST(Confusion, AClassThatIsNeverRecalledMakesTheGeometricMeanZero) {
  EXPECT_EQ(GeometricMean(Counts(2, {9, 0, 4, 0})), 0);
}

TEST(Confusion, MatthewsIsZeroWhereItIsUndefined) {
  EXPECT_EQ(Matthews(Counts(2, {9, 0, 4, 0})), 0);  // everything predicted as one class
  EXPECT_EQ(Matthews(Counts(2, {5, 4, 0, 0})), 0);  // only one class has examples
  EXPECT_EQ(Matthews(Counts(1, {5})), 0);
}

TEST(Confusion, PoolingIsAdditionInAnyOrder) {
  ConfusionCounts one = UnequalCounts();
  ConfusionCounts other = Counts(3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  ConfusionCounts forth;  // empty takes the other side's classes
  ASSERT_TRUE(forth.Add(one));
  ASSERT_TRUE(forth.Add(other));
  ConfusionCounts back = other;
  ASSERT_TRUE(back.Add(one));
  ASSERT_TRUE(back.Add(ConfusionCounts()));
  EXPECT_EQ(forth, back);
  EXPECT_EQ(forth.at(2, 0), 8u);
  EXPECT_EQ(forth.total(), 65u);
}

TEST(Confusion, OtherClassesOrTooManyExamplesAreNotPooledAndChangeNothing) {
  ConfusionCounts counts = UnequalCounts();
  EXPECT_THAT(counts.Add(ConfusionCounts(2)).error().message,
              HasSubstr("2 classes cannot be pooled with those of 3"));
  ConfusionCounts many(3);
  many.Count(1, 0, ConfusionCounts::kMaxExamples - 19);
  EXPECT_THAT(counts.Add(many).error().message, HasSubstr("more than 281474976710656 examples"));
  EXPECT_EQ(counts, UnequalCounts());
  many = ConfusionCounts(3);
  many.Count(1, 0, ConfusionCounts::kMaxExamples - 20);
  EXPECT_TRUE(counts.Add(many));
}

TEST(Confusion, RefusesOtherClassesAndOtherRowSumsThanDeclared) {
  EXPECT_TRUE(UnequalCounts().Check({{6, 10, 4}}));
  EXPECT_TRUE(ConfusionCounts().Check({}));
  EXPECT_THAT(ConfusionCounts().Check({{6, 10, 4}}).error().message,
              HasSubstr("counts of 0 classes, but 3 were declared"));
  EXPECT_FALSE(UnequalCounts().Check({{6, 10, 4, 0}}));
  EXPECT_THAT(UnequalCounts().Check({{10, 6, 4}}).error().message, HasSubstr("class 0"));
  EXPECT_THAT(UnequalCounts().Check({{6, 10, 5}}).error().message, HasSubstr("class 2"));
}

TEST(Confusion, CellsThatWrapAroundToTheRightSumAreForged) {
  ConfusionCounts counts(2);
  counts.Count(0, 0, UINT64_MAX);
  counts.Count(0, 1, 5);  // wraps to 4
  counts.Count(1, 1, 6);
  EXPECT_FALSE(counts.Check({{4, 6}}));
}

TEST(Confusion, CountsFromPeersAreChecked) {
  EXPECT_THAT(ConfusionCounts::FromCounts(3, {1, 2, 3, 4}).error().message,
              HasSubstr("3 classes need 9 numbers, not 4"));
  EXPECT_TRUE(ConfusionCounts::FromCounts(0, {}));
  // Sums that wrap around would pass for row sums 3 and 4.
  uint64_t huge = uint64_t{1} << 63;
  EXPECT_THAT(ConfusionCounts::FromCounts(2, {huge + 3, huge, 0, 4}).error().message,
              HasSubstr("more than 281474976710656 examples"));
  EXPECT_TRUE(ConfusionCounts::FromCounts(1, {ConfusionCounts::kMaxExamples}));
}

TEST(ConfusionDeathTest, CountingOutsideTheClassesStopsTheProcess) {
  ConfusionCounts counts(2);
  EXPECT_DEATH(counts.Count(2, 0), "check failed");
}

}  // namespace
}  // namespace metis
