#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metis/core/text.h"
#include "metis/federation/validation_cycle.h"
#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::CycleReason;
using federation::Settings;
using federation::ValidationCycle;

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ValidationCycle Adaptive(double vc_loss_pct, uint32_t tombstones, Settings settings = {}) {
  Set(settings, "trigger.vc_loss_pct", vc_loss_pct);
  Set(settings, "trigger.vc_tombstones", tombstones);
  return ValidationCycle(AdaptiveTrigger().make(settings, "fast"));
}

Settings WithKey(std::string_view key, uint32_t value) {
  Settings settings;
  Set(settings, Text("trigger.", key), value);
  return settings;
}

// One cycle of a single epoch that asks with this staleness.
void AskOnce(ValidationCycle& cycle, uint64_t staleness) {
  cycle.Begin(1);
  ASSERT_TRUE(cycle.EpochEnded(2, staleness));
}

TEST(AdaptiveTrigger, ALossOfTheReceivedModelThatIsNoNumberKeepsItsPlace) {
  ValidationCycle cycle = Adaptive(0, 5);
  EXPECT_EQ(AsksAt(cycle, {kNan, kNan, 2, 1.5}), 0u);
  EXPECT_EQ(cycle.record().epochs, 3u);
  EXPECT_EQ(cycle.record().failures, 2u) << "the first two had nothing to compare with";
  EXPECT_THAT(cycle.record().losses, ElementsAre(testing::IsNan(), testing::IsNan(), 2, 1.5));
}

TEST(AdaptiveTrigger, C1AsksWhenTheLossNoLongerFalls) {
  ValidationCycle cycle = Adaptive(0, 0);
  EXPECT_EQ(AsksAt(cycle, {2, 1.9, 1.8, 1.8}), 3u);  // Vpct = 0 is a failure
  EXPECT_EQ(cycle.record().reason, CycleReason::kC1);
  EXPECT_THAT(cycle.record().losses, ElementsAre(2, 1.9, 1.8, 1.8));
  EXPECT_EQ(AsksAt(cycle, {2, 2.5}), 1u);
}

TEST(AdaptiveTrigger, C2AsksWhenTheLossFallsTooLittle) {
  ValidationCycle cycle = Adaptive(5, 0);
  EXPECT_EQ(AsksAt(cycle, {100, 94, 80, 76}), 3u);  // 6 %, 14.9 %, then exactly 5 %
  EXPECT_EQ(cycle.record().reason, CycleReason::kC2);
  EXPECT_EQ(cycle.record().failures, 1u);
}

TEST(AdaptiveTrigger, TombstonesCountFailuresOfTheWholeCycleNotConsecutiveOnes) {
  ValidationCycle cycle = Adaptive(0, 2);
  EXPECT_EQ(AsksAt(cycle, {10, 11, 9, 9.5, 8, 7, 7.5}), 6u);
  EXPECT_EQ(cycle.record().failures, 3u);
  EXPECT_EQ(AsksAt(cycle, {10, 11, 9, 9.5, 8}), 0u);  // a new cycle has its tombstones again
  EXPECT_EQ(cycle.record().failures, 2u);
}

TEST(AdaptiveTrigger, TheReasonIsThatOfTheFailureThatAsked) {
  ValidationCycle cycle = Adaptive(1, 1);
  EXPECT_EQ(AsksAt(cycle, {100, 101, 100.5}), 2u);
  EXPECT_EQ(cycle.record().reason, CycleReason::kC2);
}

TEST(AdaptiveTrigger, APreviousLossOfZeroOrNoNumberIsAFailure) {
  for (double previous : {0.0, kInfinity, kNan, -1.0}) {
    ValidationCycle cycle = Adaptive(0, 0);
    EXPECT_EQ(AsksAt(cycle, {previous, 0.5}), 1u) << previous;
    EXPECT_EQ(cycle.record().reason, CycleReason::kC1);
  }
}

TEST(AdaptiveTrigger, ALossThatIsNoNumberFailsItsEpochAndTheNext) {
  for (double bad : {kNan, kInfinity}) {
    ValidationCycle cycle = Adaptive(0, 2);
    EXPECT_EQ(AsksAt(cycle, {4, bad, 3, 2, 2.5}), 4u) << bad;
    EXPECT_EQ(cycle.record().failures, 3u);
    EXPECT_EQ(cycle.record().losses.size(), 5u);  // one an epoch, and VLoss_0
  }
}

TEST(AdaptiveTrigger, ACycleThatAlwaysImprovesEndsAtMaxEpochs) {
  ValidationCycle cycle = Adaptive(0, 0, WithKey("max_epochs", 4));
  EXPECT_EQ(AsksAt(cycle, {9, 8, 7, 6, 5, 4}), 4u);
  EXPECT_EQ(cycle.record().reason, CycleReason::kMaxEpochs);
}

TEST(AdaptiveTrigger, C3AsksAtOnceWhenTheModelIsStalerThanTheMedianOfTheFirstCycles) {
  ValidationCycle cycle = Adaptive(0, 0, WithKey("staleness_window", 3));
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

TEST(AdaptiveTrigger, C3AppliesOnlyAfterTheWholeWindow) {
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

TEST(AdaptiveTrigger, TheStatisticIsASetting) {
  const std::vector<std::pair<const char*, double>> cases = {
      {"median", 25}, {"mean", 40}, {"maximum", 100}};
  for (auto [statistic, limit] : cases) {
    Settings settings = WithKey("staleness_window", 4);
    Set(settings, "trigger.staleness_statistic", statistic);
    ValidationCycle cycle = Adaptive(0, 0, settings);
    for (uint64_t staleness : {100u, 20u, 10u, 30u}) AskOnce(cycle, staleness);
    EXPECT_EQ(cycle.staleness_limit(), limit);
  }
}

TEST(AdaptiveTrigger, AnAbandonedCycleIsNotPartOfTheWindow) {
  ValidationCycle cycle = Adaptive(0, 0, WithKey("staleness_window", 1));
  cycle.Begin(10);
  EXPECT_FALSE(cycle.EpochEnded(9, 500));
  AskOnce(cycle, 40);
  EXPECT_EQ(cycle.staleness_limit(), 40);
}

TEST(AdaptiveTrigger, AGroupMayHaveThresholdsOfItsOwn) {
  Settings settings = WithKey("vc_tombstones", 2);
  SetOfGroup(settings, "slow", "trigger.vc_tombstones", 0);
  ValidationCycle fast(AdaptiveTrigger().make(settings, "fast"));
  ValidationCycle slow(AdaptiveTrigger().make(settings, "slow"));
  EXPECT_EQ(AsksAt(fast, {1, 2, 3, 4}), 3u);
  EXPECT_EQ(AsksAt(slow, {1, 2, 3, 4}), 1u);
}

TEST(AdaptiveTrigger, ItsOracleAgreesOnEveryEpochOfDrawnCycles) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random({.seed = seed});
    Settings settings;
    AdaptiveTrigger().draw(random, settings);
    ValidationCycle cycle(AdaptiveTrigger().make(settings, "slow"));
    federation::CycleFacts facts{.group = "slow", .staleness = {}, .record = {}};
    double loss = 10;
    cycle.Begin(loss);
    for (int epoch = 0; epoch < 200; ++epoch) {
      loss *= random.Uniform(0.9, 1.05);
      const bool asked = cycle.EpochEnded(loss, random.Below(100));
      facts.record = cycle.record();
      const auto expected = AdaptiveTrigger().expect(settings, facts);
      ASSERT_EQ(asked, expected.has_value()) << epoch;
      if (!asked) continue;
      EXPECT_EQ(cycle.record().reason, *expected);
      facts.staleness.push_back(static_cast<double>(cycle.record().staleness));
      cycle.Begin(loss);
    }
  }
}

}  // namespace
}  // namespace metis::policy
