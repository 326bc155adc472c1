#include "metis/core/regression_sums.h"

#include <algorithm>
#include <cmath>

#include "metis/core/text.h"

namespace metis {
namespace {

constexpr int kBits = RegressionSums::kGridBits + RegressionSums::kLargestBits;
constexpr Int128 kBound = Int128{1} << kBits;  // of a target on the grid
constexpr double kGrid = 1 << RegressionSums::kGridBits;

// Checked: finite and within kLargest.
Int128 OnGrid(double value) { return static_cast<Int128>(std::llround(value * kGrid)); }

}  // namespace

Result<void> RegressionSums::Declaration::Add(const Declaration& other) {
  if (__builtin_add_overflow(count, other.count, &count)) count = UINT64_MAX;
  return {};
}

Result<RegressionSums> RegressionSums::FromSums(uint64_t n, Int128 squared_errors, Int128 targets,
                                                Int128 squared_targets) {
  RegressionSums sums;
  sums.n_ = n;
  sums.squared_errors_ = squared_errors;
  sums.targets_ = targets;
  sums.squared_targets_ = squared_targets;
  if (Result<void> valid = sums.Validate(); !valid) return valid.error();
  return sums;
}

// With the mean as q + r/n, q whole and 0 <= r < n, the squared deviations from it are
// squared_targets - q^2 n - 2 q r - r^2 / n: every term but the last is whole, and none needs more
// than 127 bits.
RegressionSums::Spread RegressionSums::SpreadOfTargets() const {
  const auto n = static_cast<Int128>(n_);
  Int128 q = targets_ / n;
  Int128 r = targets_ % n;
  if (r < 0) {
    q -= 1;
    r += n;
  }
  return {squared_targets_ - q * q * n - 2 * q * r, r * r};
}

Result<void> RegressionSums::Validate() const {
  if (n_ > kMaxExamples) {
    return Invalid(Text("regression sums of ", n_, " examples: at most ", kMaxExamples,
                        " are taken, no data set is that large"));
  }
  const auto n = static_cast<Int128>(n_);
  const bool possible = squared_errors_ >= 0 && squared_errors_ <= n * (4 * kBound * kBound) &&
                        targets_ >= -n * kBound && targets_ <= n * kBound &&
                        squared_targets_ >= 0 && squared_targets_ <= n * (kBound * kBound);
  if (!possible) {
    return Invalid(Text("regression sums of ", n_, " examples with squared errors ",
                        ToText(squared_errors_), ", targets ", ToText(targets_),
                        " and squared targets ", ToText(squared_targets_), ": no targets within ",
                        kLargest, " have them"));
  }
  if (n_ == 0) return {};
  const Spread spread = SpreadOfTargets();
  // Rounded up: what is whole is at least a fraction if it is at least the next whole number.
  if (spread.whole < (spread.remainder + n - 1) / n) {
    return Invalid(Text("regression sums of ", n_, " examples with targets ", ToText(targets_),
                        " and squared targets ", ToText(squared_targets_),
                        ": the squares are too small for that sum"));
  }
  return {};
}

Result<void> RegressionSums::Count(double target, double prediction) {
  if (!(std::abs(target) <= kLargest)) {
    return Invalid(Text("target ", target, " is not within ", -kLargest, " to ", kLargest,
                        ": scale the targets of the data set"));
  }
  if (n_ >= kMaxExamples) return Invalid(Text("more than ", kMaxExamples, " examples"));
  if (std::isnan(prediction)) prediction = target >= 0 ? -kLargest : kLargest;
  const Int128 actual = OnGrid(target);
  const Int128 error = OnGrid(std::clamp(prediction, -kLargest, kLargest)) - actual;
  ++n_;
  squared_errors_ += error * error;
  targets_ += actual;
  squared_targets_ += actual * actual;
  return {};
}

Result<void> RegressionSums::Add(const RegressionSums& other) {
  if (other.n_ > kMaxExamples - n_) {
    return Invalid(Text("regression sums of ", n_, " and ", other.n_, " examples are more than ",
                        kMaxExamples, " together: no data set is that large"));
  }
  // Each sum is bounded by its examples (Validate), so that these are as well.
  n_ += other.n_;
  squared_errors_ += other.squared_errors_;
  targets_ += other.targets_;
  squared_targets_ += other.squared_targets_;
  return {};
}

Result<void> RegressionSums::Check(const Declaration& declared) const {
  if (n_ == declared.count) return {};
  return Invalid(Text("regression sums of ", n_, " examples, but ", declared.count,
                      " validation examples were declared on joining"));
}

double RegressionSums::MeanSquaredError() const {
  if (n_ == 0) return 0;
  return static_cast<double>(squared_errors_) / static_cast<double>(n_) / (kGrid * kGrid);
}

double RegressionSums::R2() const {
  if (n_ == 0) return 0;
  const Spread spread = SpreadOfTargets();
  const double squared_deviations = static_cast<double>(spread.whole) -
                                    static_cast<double>(spread.remainder) / static_cast<double>(n_);
  if (squared_deviations <= 0) return squared_errors_ == 0 ? 1 : 0;
  return 1 - static_cast<double>(squared_errors_) / squared_deviations;
}

double RegressionSums::Score(Metric metric) const {
  METIS_CHECK(metric == Metric::kR2);
  return std::clamp(R2(), 0.0, 1.0);
}

}  // namespace metis
