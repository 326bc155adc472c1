#include "metis/federation/stop.h"

#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

TEST(StopCriteria, NothingSetNeverStops) {
  StopCriteria criteria{StopSettings{}};
  criteria.Tested(Version(1), 1, nullptr);
  EXPECT_EQ(criteria.Met(1'000'000, 1'000'000, true), std::nullopt);
}

TEST(StopCriteria, RoundsCountInASynchronousFederationOnly) {
  StopCriteria criteria{StopSettings{.rounds = 3}};
  EXPECT_EQ(criteria.Met(2, 99, true), std::nullopt);
  EXPECT_EQ(criteria.Met(3, 99, true), StopReason::kRounds);
  EXPECT_EQ(criteria.Met(3, 99, false), std::nullopt);
}

TEST(StopCriteria, RequestsCountCommittedUpdates) {
  StopCriteria criteria{StopSettings{.requests = 7}};
  EXPECT_EQ(criteria.Met(7, 6, false), std::nullopt);
  EXPECT_EQ(criteria.Met(1, 7, false), StopReason::kRequests);
}

TEST(StopCriteria, TargetAccuracyIsMetByTheBestTest) {
  StopCriteria criteria{StopSettings{.target_accuracy = 0.5}};
  EXPECT_EQ(criteria.Met(0, 0, false), std::nullopt);
  criteria.Tested(Version(1), 0.49, nullptr);
  EXPECT_EQ(criteria.Met(0, 0, false), std::nullopt);
  criteria.Tested(Version(2), 0.5, nullptr);
  EXPECT_EQ(criteria.Met(0, 0, false), StopReason::kTargetAccuracy);
}

TEST(StopCriteria, PatienceCountsTestsInARowWithoutANewBest) {
  Models models;
  StopCriteria criteria{StopSettings{.patience = 2}};
  ModelPtr best = models.From(1);
  EXPECT_TRUE(criteria.Tested(Version(1), 0.3, models.From(0)));
  EXPECT_FALSE(criteria.Tested(Version(2), 0.3, models.From(0)));  // as good is not better
  EXPECT_TRUE(criteria.Tested(Version(3), 0.4, best));
  EXPECT_FALSE(criteria.Tested(Version(4), 0.1, models.From(2)));
  EXPECT_EQ(criteria.Met(0, 0, false), std::nullopt);
  EXPECT_FALSE(criteria.Tested(Version(5), 0.39, models.From(3)));
  EXPECT_EQ(criteria.Met(0, 0, false), StopReason::kPatience);
  EXPECT_EQ(criteria.best_version(), Version(3));
  EXPECT_EQ(criteria.best_model(), best);
  EXPECT_EQ(criteria.latest_accuracy(), 0.39);
  EXPECT_EQ(criteria.tests(), 5u);
}

TEST(StopCriteria, AFirstTestOfZeroAccuracyIsTheBestSoFar) {
  Models models;
  StopCriteria criteria{StopSettings{.patience = 1}};
  EXPECT_TRUE(criteria.Tested(Version(0), 0, models.From(0)));
  EXPECT_EQ(criteria.Met(0, 0, false), std::nullopt);
}

}  // namespace
}  // namespace metis::federation
