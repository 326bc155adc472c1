#include "metis/core/median.h"

#include <gtest/gtest.h>

namespace metis {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({9, 1, 4}), 4);
  EXPECT_EQ(Median({9, 1, 4, 2}), 3);
  EXPECT_EQ(Median({5, 5, 1, 100, 6, 2}), 5);
}

}  // namespace
}  // namespace metis
