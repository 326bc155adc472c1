#include "metis/federation/validation_cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ValidationCycle Adaptive(double vc_loss_pct, uint32_t tombstones, TriggerSettings settings = {}) {
  return ValidationCycle(TriggerKind::kAdaptive, settings, {vc_loss_pct, tombstones});
}

// The epoch at which the cycle asks, given VLoss_0 and then one loss an epoch; 0: it does not.
size_t AsksAt(ValidationCycle& cycle, const std::vector<double>& losses) {
  cycle.Begin(losses[0]);
  for (size_t epoch = 1; epoch < losses.size(); ++epoch) {
    if (cycle.EpochEnded(losses[epoch], 0)) return epoch;
  }
  return 0;
}

// One cycle of a single epoch that asks with this staleness.
void AskOnce(ValidationCycle& cycle, uint64_t staleness) {
  cycle.Begin(1);
  ASSERT_TRUE(cycle.EpochEnded(2, staleness));
}

TEST(ValidationCycle, TheEpochsTriggerAsksAfterExactlyUfEpochs) {
  TriggerSettings settings{.local_epochs = 3};
  ValidationCycle cycle(TriggerKind::kEpochs, settings, {});
  for (uint64_t number : {1u, 2u}) {
    EXPECT_EQ(AsksAt(cycle, {1, 5, 0.1, 7, 9}), 3u);  // whatever the losses do
    EXPECT_EQ(cycle.record().cycle, number);
    EXPECT_EQ(cycle.record().epochs, 3u);
    EXPECT_EQ(cycle.record().reason, CycleReason::kEpochs);
  }
}

TEST(ValidationCycle, ALossOfTheReceivedModelThatIsNoNumberKeepsItsPlace) {
  ValidationCycle cycle = Adaptive(0, 5);
  EXPECT_EQ(AsksAt(cycle, {kNan, kNan, 2, 1.5}), 0u);
  EXPECT_EQ(cycle.record().epochs, 3u);
  EXPECT_EQ(cycle.record().failures, 2u) << "the first two had nothing to compare with";
  EXPECT_THAT(cycle.record().losses, ElementsAre(testing::IsNan(), testing::IsNan(), 2, 1.5));
}

TEST(ValidationCycle, WithoutAValidationSetNoLossesAreRecorded) {
  ValidationCycle cycle(TriggerKind::kEpochs, {.local_epochs = 2}, {});
  EXPECT_EQ(AsksAt(cycle, {kNan, kNan, kNan}), 2u);
  EXPECT_THAT(cycle.record().losses, IsEmpty());
}

TEST(ValidationCycle, C1AsksWhenTheLossNoLongerFalls) {
  ValidationCycle cycle = Adaptive(0, 0);
  EXPECT_EQ(AsksAt(cycle, {2, 1.9, 1.8, 1.8}), 3u);  // Vpct = 0 is a failure
  EXPECT_EQ(cycle.record().reason, CycleReason::kC1);
  EXPECT_THAT(cycle.record().losses, ElementsAre(2, 1.9, 1.8, 1.8));
  EXPECT_EQ(AsksAt(cycle, {2, 2.5}), 1u);
}

TEST(ValidationCycle, C2AsksWhenTheLossFallsTooLittle) {
  ValidationCycle cycle = Adaptive(5, 0);
  EXPECT_EQ(AsksAt(cycle, {100, 94, 80, 76}), 3u);  // 6 %, 14.9 %, then exactly 5 %
  EXPECT_EQ(cycle.record().reason, CycleReason::kC2);
  EXPECT_EQ(cycle.record().failures, 1u);
}

TEST(ValidationCycle, TombstonesCountFailuresOfTheWholeCycleNotConsecutiveOnes) {
  ValidationCycle cycle = Adaptive(0, 2);
  EXPECT_EQ(AsksAt(cycle, {10, 11, 9, 9.5, 8, 7, 7.5}), 6u);
  EXPECT_EQ(cycle.record().failures, 3u);
  EXPECT_EQ(AsksAt(cycle, {10, 11, 9, 9.5, 8}), 0u);  // a new cycle has its tombstones again
  EXPECT_EQ(cycle.record().failures, 2u);
}

TEST(ValidationCycle, TheReasonIsThatOfTheFailureThatAsked) {
  ValidationCycle cycle = Adaptive(1, 1);
  EXPECT_EQ(AsksAt(cycle, {100, 101, 100.5}), 2u);
  EXPECT_EQ(cycle.record().reason, CycleReason::kC2);
}

TEST(ValidationCycle, APreviousLossOfZeroOrNoNumberIsAFailure) {
  for (double previous : {0.0, kInfinity, kNan, -1.0}) {
    ValidationCycle cycle = Adaptive(0, 0);
    EXPECT_EQ(AsksAt(cycle, {previous, 0.5}), 1u) << previous;
    EXPECT_EQ(cycle.record().reason, CycleReason::kC1);
  }
}

TEST(ValidationCycle, ALossThatIsNoNumberFailsItsEpochAndTheNext) {
  for (double bad : {kNan, kInfinity}) {
    ValidationCycle cycle = Adaptive(0, 2);
    EXPECT_EQ(AsksAt(cycle, {4, bad, 3, 2, 2.5}), 4u) << bad;
    EXPECT_EQ(cycle.record().failures, 3u);
    EXPECT_EQ(cycle.record().losses.size(), 5u);  // one an epoch, and VLoss_0
  }
}

TEST(ValidationCycle, ACycleThatAlwaysImprovesEndsAtMaxEpochs) {
  ValidationCycle cycle = Adaptive(0, 0, {.max_epochs = 4});
  EXPECT_EQ(AsksAt(cycle, {9, 8, 7, 6, 5, 4}), 4u);
  EXPECT_EQ(cycle.record().reason, CycleReason::kMaxEpochs);
}

TEST(ValidationCycle, C3AsksAtOnceWhenTheModelIsStalerThanTheMedianOfTheFirstCycles) {
  ValidationCycle cycle = Adaptive(0, 0, {.staleness_window = 3});
  for (uint64_t staleness : {50u, 10u, 30u}) {
    EXPECT_EQ(cycle.staleness_limit(), std::nullopt);
    AskOnce(cycle, staleness);
  }
  EXPECT_EQ(cycle.staleness_limit(), 30);
  cycle.Begin(100);
  EXPECT_FALSE(cycle.EpochEnded(90, 29));
  EXPECT_FALSE(cycle.EpochEnded(80, 30));  // must exceed it
  EXPECT_TRUE(cycle.EpochEnded(70, 31));
  EXPECT_EQ(cycle.record().reason, CycleReason::kC3);
  EXPECT_EQ(cycle.record().staleness, 31u);
  EXPECT_EQ(cycle.record().epochs, 3u);
}

TEST(ValidationCycle, C3AppliesOnlyAfterTheWholeWindow) {
  ValidationCycle cycle = Adaptive(0, 0);
  for (uint64_t number = 0; number < 19; ++number) AskOnce(cycle, number);
  cycle.Begin(100);
  EXPECT_FALSE(cycle.EpochEnded(90, 1'000'000));
  EXPECT_TRUE(cycle.EpochEnded(95, 19));
  EXPECT_EQ(cycle.record().reason, CycleReason::kC1);
  EXPECT_EQ(cycle.staleness_limit(), 9.5);  // 0 to 19
  cycle.Begin(100);
  EXPECT_TRUE(cycle.EpochEnded(90, 10));
  EXPECT_EQ(cycle.staleness_limit(), 9.5);  // later cycles do not move it
}

TEST(ValidationCycle, TheStatisticIsASetting) {
  const std::vector<std::pair<StalenessStatistic, double>> cases = {
      {StalenessStatistic::kMedian, 25},
      {StalenessStatistic::kMean, 40},
      {StalenessStatistic::kMaximum, 100}};
  for (auto [statistic, limit] : cases) {
    ValidationCycle cycle =
        Adaptive(0, 0, {.staleness_window = 4, .staleness_statistic = statistic});
    for (uint64_t staleness : {100u, 20u, 10u, 30u}) AskOnce(cycle, staleness);
    EXPECT_EQ(cycle.staleness_limit(), limit);
  }
}

TEST(ValidationCycle, TheEpochsTriggerIgnoresStaleness) {
  ValidationCycle cycle(TriggerKind::kEpochs, {.local_epochs = 2, .staleness_window = 1}, {});
  EXPECT_EQ(AsksAt(cycle, {1, 1, 1}), 2u);
  cycle.Begin(1);
  EXPECT_FALSE(cycle.EpochEnded(1, 1'000'000));
}

TEST(ValidationCycle, AnAbandonedCycleIsNotPartOfTheWindow) {
  ValidationCycle cycle = Adaptive(0, 0, {.staleness_window = 1});
  cycle.Begin(10);
  EXPECT_FALSE(cycle.EpochEnded(9, 500));
  AskOnce(cycle, 40);
  EXPECT_EQ(cycle.staleness_limit(), 40);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({9, 1, 4}), 4);
  EXPECT_EQ(Median({9, 1, 4, 2}), 3);
  EXPECT_EQ(Median({5, 5, 1, 100, 6, 2}), 5);
}

}  // namespace
}  // namespace metis::federation
