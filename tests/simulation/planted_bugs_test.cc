// The tester has teeth: each bug that can be planted (metis/core/planted.h) is found by the swarm
// within so many seeds, and without one the same seeds run clean.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>

#include "metis/core/planted.h"
#include "metis/sim/swarm.h"
#include "tests/simulation/seeds.h"

#ifndef METIS_PLANTED_BUGS
#error "build this test with METIS_PLANTED_BUGS, as its CMakeLists.txt does"
#endif

namespace metis {
PlantedBug planted_bug = PlantedBug::kNone;
}  // namespace metis

namespace metis::sim {
namespace {

tests::SeedRange seeds;

class PlantedBugs : public testing::TestWithParam<int> {};

TEST_P(PlantedBugs, IsFound) {
  planted_bug = static_cast<PlantedBug>(GetParam());
  std::mutex mutex;
  std::optional<std::pair<uint64_t, std::string>> found;
  tests::ForEachSeed(seeds, [&](uint64_t seed) {
    SwarmOutcome outcome = RunScenario(DrawScenario(seed));
    std::lock_guard lock(mutex);
    if (outcome.failure && (!found || seed < found->first)) found = {seed, *outcome.failure};
    return !found;
  });
  planted_bug = PlantedBug::kNone;
  ASSERT_TRUE(found) << kPlantedBugNames[static_cast<size_t>(GetParam())] << " was not found in "
                     << seeds.count << " seeds";
  std::printf("%-24s seed %-4llu %s\n",
              std::string(kPlantedBugNames[static_cast<size_t>(GetParam())]).c_str(),
              static_cast<unsigned long long>(found->first), found->second.c_str());
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBugs,
                         testing::Range(1, static_cast<int>(kPlantedBugNames.size())),
                         [](const testing::TestParamInfo<int>& info) {
                           std::string name(kPlantedBugNames[static_cast<size_t>(info.param)]);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PlantedBugs, WithoutOneTheSeedsRunClean) {
  planted_bug = PlantedBug::kNone;
  tests::ForEachSeed({seeds.first, std::min<uint64_t>(seeds.count, 50)}, [&](uint64_t seed) {
    SwarmOutcome outcome = RunScenario(DrawScenario(seed));
    if (outcome.failure) ADD_FAILURE() << "seed " << seed << ": " << *outcome.failure;
    return !outcome.failure;
  });
}

}  // namespace
}  // namespace metis::sim

int main(int argc, char** argv) {
  return metis::tests::RunSeedTests(argc, argv, metis::sim::seeds);
}
