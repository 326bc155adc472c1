// Whole federations under faults drawn from seeds: no law is ever broken, and all go on once the
// world heals. A failure prints its seed: swarm_test --seeds=1 --first-seed=SEED runs it alone.
#include "metis/sim/swarm.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>

#include "tests/simulation/seeds.h"

namespace metis::sim {
namespace {

tests::SeedRange seeds;

TEST(Swarm, NoLawIsBrokenAndEveryLearnerGoesOnAfterHealing) {
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(seeds.first),
              static_cast<unsigned long long>(seeds.first + seeds.count - 1));
  std::mutex mutex;
  uint64_t commits = 0;
  uint64_t tasks = 0;
  int failures = 0;
  tests::ForEachSeed(seeds, [&](uint64_t seed) {
    SwarmOutcome outcome = RunScenario(DrawScenario(seed));
    std::lock_guard lock(mutex);
    commits += outcome.commits;
    tasks += outcome.tasks;
    if (outcome.failure) ADD_FAILURE() << "seed " << seed << ": " << *outcome.failure;
    failures += outcome.failure.has_value();
    return failures < 5;
  });
  // A swarm that does nothing proves nothing.
  EXPECT_GT(commits, 20 * seeds.count);
  std::printf("%llu commits, %llu simulated tasks\n", static_cast<unsigned long long>(commits),
              static_cast<unsigned long long>(tasks));
}

TEST(Swarm, TheSameSeedEndsInTheSameState) {
  for (uint64_t seed = seeds.first; seed < seeds.first + std::min<uint64_t>(seeds.count, 10);
       ++seed) {
    SwarmOutcome once = RunScenario(DrawScenario(seed));
    SwarmOutcome again = RunScenario(DrawScenario(seed));
    EXPECT_EQ(once.state_hash, again.state_hash) << "seed " << seed;
    EXPECT_EQ(once.tasks, again.tasks) << "seed " << seed;
  }
}

}  // namespace
}  // namespace metis::sim

int main(int argc, char** argv) {
  return metis::tests::RunSeedTests(argc, argv, metis::sim::seeds);
}
