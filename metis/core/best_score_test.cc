#include "metis/core/best_score.h"

#include <gtest/gtest.h>

namespace metis {
namespace {

TEST(BestScore, IsTheFirstOfTheHighest) {
  BestScore best;
  EXPECT_EQ(best.score(), std::nullopt);
  EXPECT_TRUE(best.Offer(0)) << "the first, though it could not be worse";
  EXPECT_TRUE(best.Offer(0.4));
  EXPECT_FALSE(best.Offer(0.4)) << "reached again";
  EXPECT_FALSE(best.Offer(0.3));
  EXPECT_EQ(best.score(), 0.4);
  EXPECT_TRUE(best.Offer(0.5));
}

TEST(BestScore, GoesOnFromOneThatWasFoundBefore) {
  BestScore best(0.4);
  EXPECT_FALSE(best.Offer(0.4));
  EXPECT_TRUE(best.Offer(0.41));
}

}  // namespace
}  // namespace metis
