#include "metis/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace metis {
namespace {

constexpr RandomKey kKey = {
    .seed = 1990, .learner = 3, .cycle = 7, .epoch = 2, .purpose = Purpose::kShuffle};

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename Draw>
Moments MomentsOf(int count, Draw draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    double x = draw();
    sum += x;
    squares += x * x;
  }
  double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

// Results of a seed are promised to be the same on every platform: these numbers never change.
TEST(Random, GoldenValues) {
  Random random(kKey);
  EXPECT_EQ(random.Next(), 0x84b7907fbe01c2beu);
  EXPECT_EQ(random.Next(), 0xfd6e2ab666a55566u);
  EXPECT_EQ(random.Next(), 0x197a43c9981b19bfu);
  EXPECT_EQ(random.Next(), 0x0249a3b1c8b18af9u);
  Random draws(kKey);
  EXPECT_EQ(draws.Uniform(), 0x1.096f20ff7c038p-1);
  EXPECT_EQ(draws.Below(1000), 766u);
  EXPECT_EQ(draws.Normal(), -0x1.6a2a05fe808e3p-4);
  EXPECT_EQ(draws.Gamma(0.5), 0x1.f314fdfebbe89p-3);
  EXPECT_EQ(draws.Exponential(3), 0x1.6cfa035704e68p+1);
}

TEST(Random, EveryPartOfTheKeyChangesTheStream) {
  std::vector<RandomKey> keys(6, kKey);
  keys[1].seed += 1;
  keys[2].learner += 1;
  keys[3].cycle += 1;
  keys[4].epoch += 1;
  keys[5].purpose = Purpose::kClassMeans;
  // And parts that change places are other keys.
  keys.push_back({.seed = 3, .learner = 1990, .cycle = 7, .epoch = 2, .purpose = kKey.purpose});
  keys.push_back({.seed = 1990, .learner = 3, .cycle = 2, .epoch = 7, .purpose = kKey.purpose});
  std::vector<uint64_t> first;
  for (const RandomKey& key : keys) {
    Random random(key);
    for (int i = 0; i < 100; ++i) first.push_back(random.Next());
  }
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

TEST(Random, NeighbouringKeysAreUncorrelated) {
  // First bits of the streams of 10,000 learners: as many ones as zeros in every place.
  std::vector<int> ones(64);
  for (uint64_t learner = 0; learner < 10'000; ++learner) {
    uint64_t bits = Random({.seed = 1, .learner = learner}).Next();
    for (size_t i = 0; i < 64; ++i) ones[i] += static_cast<int>(bits >> i & 1);
  }
  for (int count : ones) EXPECT_NEAR(count, 5000, 5 * 50);  // five deviations
}

TEST(Random, CopyingForksTheStream) {
  Random one(kKey);
  one.Next();
  Random other = one;
  uint64_t next = one.Next();
  EXPECT_EQ(other.Next(), next);
}

TEST(Random, UniformIsWithinItsBoundsAndEven) {
  Random random(kKey);
  Moments moments = MomentsOf(100'000, [&] {
    double x = random.Uniform();
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
    return x;
  });
  EXPECT_NEAR(moments.mean, 0.5, 0.005);
  EXPECT_NEAR(moments.variance, 1.0 / 12, 0.002);
  for (int i = 0; i < 1000; ++i) {
    double x = random.Uniform(-3, 5);
    EXPECT_GE(x, -3);
    EXPECT_LT(x, 5);
  }
}

TEST(Random, BelowIsUnbiased) {
  for (uint64_t bound : {2u, 3u, 7u, 10u, 100u}) {
    Random random({.seed = bound, .purpose = Purpose::kTest});
    std::vector<double> seen(bound);
    constexpr double kPerValue = 2000;
    for (uint64_t i = 0; i < bound * 2000; ++i) seen[random.Below(bound)] += 1;
    double chi_square = 0;
    for (double count : seen) chi_square += (count - kPerValue) * (count - kPerValue) / kPerValue;
    double freedom = static_cast<double>(bound - 1);
    EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom)) << bound;
  }
}

TEST(Random, BelowRejectsWhatWouldBias) {
  // 2^64 mod bound is a third of 2^64 here: plain remainders would make low values twice as likely.
  uint64_t bound = (uint64_t{1} << 63) + (uint64_t{1} << 62);
  Random random(kKey);
  int low = 0;
  for (int i = 0; i < 30'000; ++i) low += random.Below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10'000, 5 * 82);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(Random, ChanceHasItsProbability) {
  Random random(kKey);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += random.Chance(0.3) ? 1 : 0;
  EXPECT_NEAR(hits, 30'000, 5 * 145);
  EXPECT_FALSE(random.Chance(0));
  EXPECT_TRUE(random.Chance(1));
}

TEST(Random, NormalHasItsMoments) {
  Random random(kKey);
  int beyond_two = 0;
  Moments moments = MomentsOf(200'000, [&] {
    double x = random.Normal();
    beyond_two += std::abs(x) > 2 ? 1 : 0;
    return x;
  });
  EXPECT_NEAR(moments.mean, 0, 0.012);
  EXPECT_NEAR(moments.variance, 1, 0.016);
  EXPECT_NEAR(beyond_two, 200'000 * 0.0455, 500);
}

TEST(Random, GammaHasItsMoments) {
  for (double shape : {0.1, 0.5, 1.0, 2.5, 40.0}) {
    Random random({.seed = static_cast<uint64_t>(shape * 10), .purpose = Purpose::kTest});
    Moments moments = MomentsOf(200'000, [&] { return random.Gamma(shape); });
    EXPECT_NEAR(moments.mean, shape, 5 * std::sqrt(shape / 200'000)) << shape;
    EXPECT_NEAR(moments.variance, shape, 0.05 * shape + 0.01) << shape;
  }
}

TEST(Random, ExponentialHasItsMoments) {
  Random random(kKey);
  Moments moments = MomentsOf(200'000, [&] { return random.Exponential(3); });
  EXPECT_NEAR(moments.mean, 3, 0.035);
  EXPECT_NEAR(moments.variance, 9, 0.4);
}

TEST(Random, ShuffleIsAPermutationAndEveryOneComesUp) {
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Random(kKey).Shuffle(std::span(shuffled));
  EXPECT_NE(shuffled, items);
  EXPECT_TRUE(std::is_permutation(shuffled.begin(), shuffled.end(), items.begin()));

  Random random(kKey);
  std::vector<int> seen(27);
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> three = {0, 1, 2};
    random.Shuffle(std::span(three));
    ++seen[static_cast<size_t>(9 * three[0] + 3 * three[1] + three[2])];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 21);  // 6 orders of 27 codes
  std::erase(seen, 0);
  for (int count : seen) EXPECT_NEAR(count, 1000, 5 * 29);
}

}  // namespace
}  // namespace metis
