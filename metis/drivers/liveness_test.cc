#include "metis/drivers/liveness.h"

#include <gtest/gtest.h>

namespace metis::drivers {
namespace {

Instant At(int64_t seconds) { return Instant() + Duration::Seconds(seconds); }

TEST(LivenessWatch, NamesASilentLearnerOnceUntilItIsHeardAgain) {
  LivenessWatch watch(Duration::Seconds(60));
  watch.Heard(LearnerId(1), Incarnation(1), At(0));
  watch.Heard(LearnerId(2), Incarnation(1), At(30));
  EXPECT_TRUE(watch.TakeSilent(At(59)).empty());
  auto silent = watch.TakeSilent(At(60));
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].learner, LearnerId(1));
  EXPECT_TRUE(watch.TakeSilent(At(61)).empty());
  watch.Heard(LearnerId(1), Incarnation(1), At(70));
  EXPECT_EQ(watch.TakeSilent(At(131)).size(), 2u);
}

TEST(LivenessWatch, AnEarlierLifeDoesNotKeepALearnerAlive) {
  LivenessWatch watch(Duration::Seconds(60));
  watch.Heard(LearnerId(1), Incarnation(2), At(0));
  watch.Heard(LearnerId(1), Incarnation(1), At(50));
  auto silent = watch.TakeSilent(At(60));
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].incarnation, Incarnation(2));
}

TEST(LivenessWatch, AfterItsOwnPauseNobodyIsDeclaredLost) {
  LivenessWatch watch(Duration::Seconds(60));
  watch.Heard(LearnerId(1), Incarnation(1), At(0));
  watch.Grace(At(500));
  EXPECT_TRUE(watch.TakeSilent(At(559)).empty());
  EXPECT_EQ(watch.TakeSilent(At(560)).size(), 1u);
}

}  // namespace
}  // namespace metis::drivers
