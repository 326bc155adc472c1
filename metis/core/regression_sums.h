// The sums of a regression over a validation set: examples, squared errors, targets and squared
// targets. Targets and predictions are rounded once to a grid of 2^-16; after that all is whole
// numbers, so pooling is exact in any order, and R^2 of the pool is that of one large validation
// set. Every sum stays within 128 bits by the bounds below, whatever peers send.
// A kind of Statistics (statistics.h); a value, not shared between threads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "metis/core/int128.h"
#include "metis/core/metric.h"
#include "metis/core/result.h"

namespace metis {

class RegressionSums {
 public:
  static constexpr std::string_view kName = "regression";
  static constexpr std::string_view kHeadline = "R2";
  static constexpr std::array kMetrics = {Metric::kR2};

  static constexpr int kGridBits = 16;
  // The largest magnitude of a target: larger ones are to be scaled before training.
  static constexpr int kLargestBits = 22;
  static constexpr double kLargest = 1 << kLargestBits;
  // The most examples, pooled or not: 2^48 squared errors of (2 * 2^38)^2 each are below 2^127.
  static constexpr uint64_t kMaxExamples = uint64_t{1} << 48;

  // What a participant says of its validation set when it joins.
  struct Declaration {
    static constexpr std::string_view kName = RegressionSums::kName;
    static constexpr std::string_view kParts = "";
    uint64_t count = 0;

    uint64_t examples() const { return count; }
    uint32_t parts() const { return 0; }
    Result<void> Validate() const { return {}; }
    Result<void> Add(const Declaration& other);
    template <typename A>
    void Describe(A& archive) {
      archive("examples", count);
    }
    friend bool operator==(const Declaration&, const Declaration&) = default;
  };

  RegressionSums() = default;
  // In units of the grid, and of its square; an error for sums that no examples have.
  static Result<RegressionSums> FromSums(uint64_t n, Int128 squared_errors, Int128 targets,
                                         Int128 squared_targets);

  // One example. An error, and nothing is counted, for a target that is not within kLargest. A
  // prediction beyond counts as kLargest, one that is not a number as the bound farther away: a
  // diverged model is a bad one, not a failure.
  Result<void> Count(double target, double prediction);

  uint64_t examples() const { return n_; }
  // Pools another one's sums. An error, and nothing changes, where all are more than kMaxExamples.
  Result<void> Add(const RegressionSums& other);
  Result<void> Check(const Declaration& declared) const;
  Result<void> Validate() const;

  double MeanSquaredError() const;  // 0 without examples
  // 1 - squared errors / squared deviations of the targets from their mean: at most 1, negative if
  // the mean would predict better. Of equal targets: 1 if all are met, else 0. No examples: 0.
  double R2() const;
  double Score(Metric metric) const;  // R^2 within [0, 1]; checked: one of kMetrics
  double Headline() const { return Score(Metric::kR2); }

  template <typename A>
  void Describe(A& archive) {
    archive("n", n_);
    archive("squared_errors", squared_errors_);
    archive("targets", targets_);
    archive("squared_targets", squared_targets_);
  }

  friend bool operator==(const RegressionSums&, const RegressionSums&) = default;

 private:
  struct Spread {
    Int128 whole = 0;  // squared_targets - whole = remainder / n: the rest of the squared mean
    Int128 remainder = 0;
  };
  Spread SpreadOfTargets() const;

  uint64_t n_ = 0;
  Int128 squared_errors_ = 0;
  Int128 targets_ = 0;
  Int128 squared_targets_ = 0;
};

}  // namespace metis
