#include "metis/sim/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace metis::sim {
namespace {

using testing::ElementsAre;

std::vector<DeviceGroup> Groups(std::vector<uint32_t> learners) {
  std::vector<DeviceGroup> groups;
  for (uint32_t count : learners) groups.push_back({.name = "group", .learners = count});
  return groups;
}

TEST(DealGroups, DealsFastSlowFastSlow) {
  EXPECT_THAT(DealGroups(Groups({3, 3}), 6, false), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(DealGroups, AGroupThatRunsOutIsPassedOver) {
  EXPECT_THAT(DealGroups(Groups({4, 2}), 6, false), ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(DealGroups(Groups({1, 3, 2}), 6, false), ElementsAre(0, 1, 2, 1, 2, 1));
  EXPECT_THAT(DealGroups(Groups({0, 2}), 2, false), ElementsAre(1, 1));
}

TEST(DealGroups, EqualSizesAreNotDealt) {
  EXPECT_THAT(DealGroups(Groups({2, 3}), 5, true), ElementsAre(0, 0, 1, 1, 1));
}

TEST(DealGroupsDeathTest, GroupsMustAddUpToTheLearners) {
  EXPECT_DEATH(DealGroups(Groups({2, 3}), 4, false), "");
}

}  // namespace
}  // namespace metis::sim
