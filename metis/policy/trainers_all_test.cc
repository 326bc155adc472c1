#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::CommunityCommitted;
using federation::Harness;

TEST(AllTrainers, ChoosesEveryLiveLearnerAndTakesLatecomersInAnyRound) {
  const auto selector = AllTrainers().make({});
  const std::vector<LearnerId> live = {LearnerId(1), LearnerId(4), LearnerId(6)};
  for (uint64_t round : {1u, 2u, 77u}) {
    EXPECT_EQ(selector->Choose(live, round), live);
    EXPECT_TRUE(selector->TakesLatecomer(LearnerId(9), round));
  }
  EXPECT_TRUE(selector->Choose({}, 1).empty());
}

TEST(AllTrainers, ARoundWaitsForALearnerThatArrivesDuringIt) {
  Harness h(federation::SettingsFor("sync-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, -1);
  h.Join(2);
  h.Update(1, 1, 4);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(2, 1, 3);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
}

TEST(AllTrainers, ItsOracleWaitsForEverybody) {
  EXPECT_TRUE(AllTrainers().expect({}, LearnerId(3), 5, {LearnerId(1)}));
  EXPECT_TRUE(AllTrainers().expect({}, LearnerId(1), 5, {LearnerId(1)}));
}

}  // namespace
}  // namespace metis::policy
