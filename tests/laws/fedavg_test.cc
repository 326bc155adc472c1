// The law of FedAvg: with numbers of examples as contributions the community model is the plain
// weighted mean, whatever the sizes, the order of arrival, and the raises of the scale on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "metis/core/random.h"
#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

constexpr size_t kParameters = 23;

struct Learner {
  LearnerId id;
  uint64_t examples = 0;
  ModelPtr model;
};

// Sizes from 1 to 2^30, most of them of different magnitudes.
std::vector<Learner> RandomLearners(Models& models, Random& random) {
  std::vector<Learner> learners(1 + random.Below(30));
  for (size_t k = 0; k < learners.size(); ++k) {
    uint64_t examples = 1 + random.Below(uint64_t{1} << random.Below(31));
    std::vector<float> values(kParameters);
    for (float& value : values) value = static_cast<float>(random.Uniform(-10, 10));
    learners[k] = {LearnerId(static_cast<uint32_t>(k)), examples, models.Of(values)};
  }
  return learners;
}

// As a federation does: the scale covers the largest set that has been declared so far.
void Contribute(Community& community, const std::vector<Learner>& learners) {
  double largest = 0;
  for (const Learner& each : learners) {
    largest = std::max(largest, static_cast<double>(each.examples));
    ASSERT_TRUE(community.RaiseScale(largest).ok());
    ASSERT_TRUE(community.Replace(each.id, static_cast<double>(each.examples), each.model).ok());
  }
}

void ExpectWeightedMean(const Community& community, const std::vector<Learner>& learners) {
  uint64_t total = 0;
  for (const Learner& each : learners) total += each.examples;
  ASSERT_EQ(community.total_contribution(), static_cast<double>(total));
  // Every term is rounded to the grid once, and the mean to a float.
  double grid = static_cast<double>(learners.size()) * 0x1p-41 * community.scale() /
                static_cast<double>(total);
  for (size_t i = 0; i < kParameters; ++i) {
    long double mean = 0;
    for (const Learner& each : learners) {
      mean += static_cast<long double>(each.examples) * each.model->parameters()[i];
    }
    mean /= static_cast<long double>(total);
    double tolerance = grid + std::fabs(static_cast<double>(mean)) * 0x1p-23 + 1e-12;
    ASSERT_NEAR(community.Current()->parameters()[i], static_cast<double>(mean), tolerance);
  }
}

TEST(FedAvg, IsTheMeanWeightedByExamplesWhateverTheSizesAndTheOrder) {
  Models models(kParameters);
  constexpr Gate kGate{.max_parameter = 16, .max_learners = 40};
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(Text("seed ", seed));
    Random random({.seed = seed});
    std::vector<Learner> learners = RandomLearners(models, random);
    MemoryModelStore store, shuffled_store, whole_store;
    ModelPtr initial = models.From(0);
    Community community(initial, kGate, models.pool(), store);
    ASSERT_NO_FATAL_FAILURE(Contribute(community, learners));
    ASSERT_NO_FATAL_FAILURE(ExpectWeightedMean(community, learners));
    EXPECT_EQ(Values(community.Current()), Values(*community.Recompute()));

    random.Shuffle(std::span(learners));
    Community shuffled(initial, kGate, models.pool(), shuffled_store);
    ASSERT_NO_FATAL_FAILURE(Contribute(shuffled, learners));
    EXPECT_EQ(StateBytes(shuffled), StateBytes(community));

    Community whole(initial, kGate, models.pool(), whole_store);
    ASSERT_TRUE(whole.RaiseScale(community.scale()).ok());
    std::vector<Contribution> round;
    for (const Learner& each : learners) {
      round.push_back({each.id, static_cast<double>(each.examples), each.model});
    }
    ASSERT_TRUE(whole.ReplaceAll(round).ok());
    EXPECT_EQ(StateBytes(whole), StateBytes(community));
  }
}

}  // namespace
}  // namespace metis::federation
