// Keyed randomness: every draw is a function of (seed, learner, cycle, epoch, purpose) and of its
// place in that stream, never of what was drawn elsewhere. So epochs can be computed ahead, in
// parallel, in any order, or again, and give the same bits on every platform and compiler.
//
//   Random shuffle({.seed = seed, .learner = k, .cycle = c, .epoch = e, .purpose =
//   Purpose::kShuffle}); shuffle.Shuffle(std::span(order));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace metis {

// What a stream is for. Streams of different purposes are independent. Values are part of the
// results of a seed: append, never renumber.
enum class Purpose : uint64_t {
  kInitialModel = 1,
  kShuffle = 2,
  kClassMeans = 3,
  kExamples = 4,
  kPartition = 5,
  kValidationSplit = 6,
  kRetryJitter = 7,
  kFaultRates = 8,
  kFaults = 9,
  kTest = 10,
  kFaultyLabels = 11,
  kAugmentation = 12,
  kDropout = 13,
  kEvaluators = 14,
};

struct RandomKey {
  uint64_t seed = 0;
  uint64_t learner = 0;
  uint64_t cycle = 0;
  uint64_t epoch = 0;
  Purpose purpose = Purpose::kTest;
};

// One stream (xoshiro256++ seeded through SplitMix64 from the key). A value: copying forks the
// stream.
class Random {
 public:
  explicit Random(const RandomKey& key);

  uint64_t Next();   // 64 uniform bits
  double Uniform();  // [0, 1) in steps of 2^-53
  double Uniform(double low, double high);
  uint64_t Below(uint64_t bound);   // 0 <= n < bound, without bias; bound > 0
  bool Chance(double probability);  // true with that probability
  double Normal();                  // mean 0, deviation 1
  double Gamma(double shape);       // shape > 0, scale 1
  double Exponential(double mean);

  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  uint64_t state_[4];
};

}  // namespace metis
