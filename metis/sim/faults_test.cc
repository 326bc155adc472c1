#include "metis/sim/faults.h"

#include <gtest/gtest.h>

#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

std::vector<double> Numbers(const FaultRates& rates) {
  return {rates.loss,
          rates.duplication,
          rates.delay,
          rates.max_delay.seconds(),
          rates.learner_crash.seconds(),
          rates.learner_pause.seconds(),
          rates.learner_leave.seconds(),
          rates.partition.seconds(),
          rates.controller_crash.seconds(),
          rates.controller_pause.seconds(),
          rates.operator_command.seconds(),
          rates.max_outage.seconds(),
          rates.silent_evaluator,
          rates.forged_counts,
          rates.nan_update,
          rates.huge_update,
          rates.stale_update,
          rates.permanent_loss ? 1.0 : 0.0,
          rates.unreadable_model};
}

TEST(FaultRates, TheSameSeedDrawsTheSameRates) {
  EXPECT_EQ(Numbers(DrawFaultRates(42)), Numbers(DrawFaultRates(42)));
  EXPECT_NE(Numbers(DrawFaultRates(42)), Numbers(DrawFaultRates(43)));
}

TEST(FaultRates, EachIsOffInSomeRunsOnInOthersAndWithinBounds) {
  // Of each in Numbers(): the least when it is on, and the most.
  const std::vector<std::pair<double, double>> bounds = {
      {0, 0.2},    {0, 0.3},    {0, 0.4},    {1, 90},     {300, 2400}, {300, 2400}, {600, 3600},
      {300, 1800}, {120, 1200}, {300, 2400}, {240, 1200}, {30, 360},   {0, 0.5},    {0, 0.3},
      {0, 0.2},    {0, 0.2},    {0, 0.5},    {1, 1},      {0, 0.05}};
  std::vector<int> on(bounds.size());
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::vector<double> drawn = Numbers(DrawFaultRates(seed));
    for (size_t i = 0; i < drawn.size(); ++i) {
      if (drawn[i] == 0) continue;
      ++on[i];
      EXPECT_GE(drawn[i], bounds[i].first) << "rate " << i << " of seed " << seed;
      EXPECT_LE(drawn[i], bounds[i].second) << "rate " << i << " of seed " << seed;
    }
  }
  for (size_t i = 0; i < on.size(); ++i) {
    bool always = i == 3 || i == 11;  // how long, not whether
    EXPECT_GE(on[i], 100) << "rate " << i;
    EXPECT_LE(on[i], always ? 400 : 200) << "rate " << i;
  }
}

TEST(FaultInjector, StrikesAsOftenAsItIsToldAndCounts) {
  FaultInjector faults({}, 5);
  uint64_t struck = 0;
  for (int i = 0; i < 4000; ++i) {
    struck += faults.Strikes(Fault::kNanUpdate, 0.15, 3, At(i)) ? 1 : 0;
    EXPECT_FALSE(faults.Strikes(Fault::kLoss, 0, 3, At(i)));
  }
  EXPECT_NEAR(static_cast<double>(struck), 600, 90);
  EXPECT_EQ(faults.struck()[static_cast<size_t>(Fault::kNanUpdate)], struck);
  EXPECT_EQ(faults.struck()[static_cast<size_t>(Fault::kLoss)], 0u);
}

TEST(FaultInjector, NothingStrikesAfterHealing) {
  FaultInjector faults({.heal_after = Duration::Minutes(3)}, 5);
  EXPECT_TRUE(faults.Strikes(Fault::kLoss, 1, 0, At(179.9)));
  EXPECT_FALSE(faults.Strikes(Fault::kLoss, 1, 0, At(180)));
  EXPECT_FALSE(faults.Active(At(180)));
  EXPECT_EQ(faults.struck()[static_cast<size_t>(Fault::kLoss)], 1u);
}

TEST(FaultInjector, TheSameSeedGivesTheSameGapsAndOutages) {
  auto draw = [](uint64_t seed) {
    FaultInjector faults({.max_outage = Duration::Seconds(50)}, seed);
    std::vector<int64_t> drawn;
    for (uint64_t learner = 0; learner < 20; ++learner) {
      Duration gap = faults.Gap(Duration::Minutes(2), learner);
      Duration outage = faults.Outage(learner);
      EXPECT_GE(gap, Duration::Seconds(1));
      EXPECT_GE(outage, Duration::Milliseconds(500));
      EXPECT_LE(outage, Duration::Seconds(50));
      drawn.push_back(gap.nanoseconds());
      drawn.push_back(outage.nanoseconds());
    }
    return drawn;
  };
  EXPECT_EQ(draw(8), draw(8));
  EXPECT_NE(draw(8), draw(9));
}

}  // namespace
}  // namespace metis::sim
