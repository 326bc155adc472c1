#include "metis/core/regression_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "metis/core/random.h"

namespace metis {
namespace {

using testing::HasSubstr;

constexpr Int128 kOne = Int128{1} << RegressionSums::kGridBits;  // 1.0 on the grid

struct Example {
  double target;
  double prediction;
};

RegressionSums Sums(const std::vector<Example>& examples) {
  RegressionSums sums;
  for (const Example& each : examples) EXPECT_TRUE(sums.Count(each.target, each.prediction));
  return sums;
}

// Targets 1, 2, 6 (mean 3, squared deviations 14), errors 0.5, -1, 1.5 (squares 3.5).
RegressionSums UnequalSums() { return Sums({{1, 1.5}, {2, 1}, {6, 7.5}}); }

TEST(RegressionSums, ScoresByHand) {
  EXPECT_EQ(UnequalSums().examples(), 3u);
  EXPECT_DOUBLE_EQ(UnequalSums().MeanSquaredError(), 3.5 / 3);
  EXPECT_DOUBLE_EQ(UnequalSums().R2(), 1 - 3.5 / 14);
  EXPECT_EQ(UnequalSums().Score(Metric::kR2), UnequalSums().R2());
  EXPECT_EQ(UnequalSums().Headline(), UnequalSums().R2());
}

TEST(RegressionSums, AreWholeNumbersOnTheGrid) {
  EXPECT_EQ(UnequalSums(),
            *RegressionSums::FromSums(3, 7 * kOne * kOne / 2, 9 * kOne, 41 * kOne * kOne));
}

TEST(RegressionSums, AScoreIsWithinZeroAndOne) {
  EXPECT_EQ(Sums({{1, 1}, {2.25, 2.25}}).Headline(), 1);
  const RegressionSums worse = Sums({{1, 40}, {2, -7}, {6, 6}});
  EXPECT_LT(worse.R2(), 0);
  EXPECT_EQ(worse.Headline(), 0);
  EXPECT_EQ(RegressionSums().Headline(), 0);
  EXPECT_EQ(RegressionSums().MeanSquaredError(), 0);
}

TEST(RegressionSums, OfEqualTargetsAllOrNothingIsExplained) {
  EXPECT_EQ(Sums({{-3.125, -3.125}, {-3.125, -3.125}, {-3.125, -3.125}}).R2(), 1);
  EXPECT_EQ(Sums({{-3.125, -3.125}, {-3.125, -3}}).R2(), 0);
  EXPECT_EQ(Sums({{5, 5}}).R2(), 1);
}

// The squares of the mean are 10^12 times the deviations: the difference is of whole numbers.
TEST(RegressionSums, AMeanFarFromZeroCostsNoDigits) {
  const double far = 3'000'000;
  EXPECT_DOUBLE_EQ(Sums({{far + 1, far + 1.5}, {far + 2, far + 1}, {far + 6, far + 7.5}}).R2(),
                   1 - 3.5 / 14);
  EXPECT_DOUBLE_EQ(Sums({{1 - far, 1.5 - far}, {2 - far, 1 - far}, {6 - far, 7.5 - far}}).R2(),
                   1 - 3.5 / 14);
}

TEST(RegressionSums, PoolingEqualsOneLargeSetHoweverItIsCut) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    RegressionSums whole;
    std::vector<RegressionSums> parts(1 + random.Below(7));
    for (uint64_t n = random.Below(300); n > 0; --n) {
      const double scale = std::ldexp(1.0, static_cast<int>(random.Below(30)) - 8);
      const double target = random.Uniform(-scale, scale);
      const double prediction = target + random.Uniform(-1, 1);
      ASSERT_TRUE(whole.Count(target, prediction));
      ASSERT_TRUE(parts[random.Below(parts.size())].Count(target, prediction));
    }
    RegressionSums forth, back;
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_TRUE(forth.Add(parts[i]));
      ASSERT_TRUE(back.Add(parts[parts.size() - 1 - i]));
    }
    EXPECT_EQ(forth, whole) << "seed " << seed;
    EXPECT_EQ(back, whole) << "seed " << seed;
    EXPECT_TRUE(whole.Validate()) << "seed " << seed;
  }
}

TEST(RegressionSums, ADivergedModelIsABadOneAndNoFailure) {
  RegressionSums sums = UnequalSums();
  for (double prediction : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) {
    ASSERT_TRUE(sums.Count(2, prediction));
  }
  EXPECT_EQ(sums.Headline(), 0);
  EXPECT_TRUE(sums.Validate());
  EXPECT_GT(sums.MeanSquaredError(), 1e12);
}

TEST(RegressionSums, ATargetThatIsTooLargeIsRefusedWithTheWayOut) {
  RegressionSums sums = UnequalSums();
  for (double target : {std::nan(""), HUGE_VAL, -5e6}) {
    EXPECT_THAT(sums.Count(target, 0).error().message, HasSubstr("scale the targets"));
  }
  EXPECT_EQ(sums, UnequalSums());
  EXPECT_TRUE(sums.Count(RegressionSums::kLargest, -RegressionSums::kLargest));
  EXPECT_TRUE(sums.Validate());
}

TEST(RegressionSums, ForgedNumbersOfExamplesAreRefused) {
  EXPECT_TRUE(UnequalSums().Check({3}));
  EXPECT_THAT(UnequalSums().Check({4}).error().message,
              HasSubstr("sums of 3 examples, but 4 validation examples were declared"));
}

TEST(RegressionSums, SumsThatNoExamplesHaveAreRefused) {
  const Int128 least = FromWords(INT64_MIN, 0);
  const Int128 most = FromWords(INT64_MAX, UINT64_MAX);
  struct Case {
    uint64_t n;
    Int128 errors, targets, squares;
  };
  for (const Case& forged : std::vector<Case>{
           {0, 1, 0, 0},
           {0, 0, 1, 1},
           {3, -1, 0, 0},
           {3, 0, 0, -1},
           {3, 0, 9, 26},  // 27 is the least for this sum
           {3, 0, -9, 26},
           {3, 0, 10, 33},  // 100 / 3 is not whole: 34
           {UINT64_MAX, 0, 0, 0},
           {RegressionSums::kMaxExamples + 1, 0, 0, 0},
           {3, most, 0, 0},
           {3, least, 0, 0},
           {3, 0, most, most},
           {3, 0, least, most},
           {RegressionSums::kMaxExamples, most, least, most},
       }) {
    EXPECT_FALSE(RegressionSums::FromSums(forged.n, forged.errors, forged.targets, forged.squares))
        << forged.n << " " << ToText(forged.errors) << " " << ToText(forged.targets) << " "
        << ToText(forged.squares);
  }
  EXPECT_TRUE(RegressionSums::FromSums(3, 0, 9, 27));
  EXPECT_TRUE(RegressionSums::FromSums(3, 0, -10, 34));
}

// The largest sums that there can be: nothing overflows, and one more example is refused.
TEST(RegressionSums, ThePoolIsBounded) {
  const uint64_t n = RegressionSums::kMaxExamples;
  const Int128 bound = Int128{1} << (RegressionSums::kGridBits + RegressionSums::kLargestBits);
  const auto all = static_cast<Int128>(n);
  for (const Int128 targets : {-all * bound, Int128{0}, Int128{1}, all * bound}) {
    RegressionSums full =
        *RegressionSums::FromSums(n, all * 4 * bound * bound, targets, all * bound * bound);
    const RegressionSums before = full;
    EXPECT_EQ(full.Headline(), 0);
    EXPECT_THAT(full.Add(UnequalSums()).error().message, HasSubstr("more than 281474976710656"));
    EXPECT_FALSE(full.Count(1, 1));
    EXPECT_EQ(full, before);
    EXPECT_TRUE(full.Add(RegressionSums()));
  }
}

}  // namespace
}  // namespace metis
