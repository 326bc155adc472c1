#include "metis/core/confusion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metis/core/math.h"
#include "metis/core/text.h"

namespace metis {
namespace {

// Counts come from peers: sums that wrap around could pass for other, honest ones.
uint64_t CappedSum(const std::vector<uint64_t>& counts) {
  uint64_t sum = 0;
  for (uint64_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) return UINT64_MAX;
  }
  return sum;
}

}  // namespace

ConfusionCounts::ConfusionCounts(uint32_t classes)
    : classes_(classes), counts_(size_t{classes} * classes) {}

uint64_t ConfusionCounts::Declaration::examples() const { return CappedSum(counts); }

Result<void> ConfusionCounts::Declaration::Validate() const {
  if (!counts.empty()) return {};
  return Invalid("a validation set of no classes");
}

Result<void> ConfusionCounts::Declaration::Add(const Declaration& other) {
  if (counts.size() != other.counts.size()) {
    return Invalid(Text("examples of ", other.counts.size(),
                        " classes cannot be added to those of ", counts.size()));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (__builtin_add_overflow(counts[i], other.counts[i], &counts[i])) counts[i] = UINT64_MAX;
  }
  return {};
}

Result<ConfusionCounts> ConfusionCounts::FromCounts(uint32_t classes,
                                                    std::vector<uint64_t> counts) {
  ConfusionCounts result;
  result.classes_ = classes;
  result.counts_ = std::move(counts);
  if (Result<void> valid = result.Validate(); !valid) return valid.error();
  return result;
}

Result<void> ConfusionCounts::Validate() const {
  if (counts_.size() != size_t{classes_} * classes_) {
    return Invalid(Text("confusion counts of ", classes_, " classes need ",
                        size_t{classes_} * classes_, " numbers, not ", counts_.size()));
  }
  if (CappedSum(counts_) > kMaxExamples) {
    return Invalid(Text("confusion counts add up to more than ", kMaxExamples,
                        " examples: no data set is that large"));
  }
  return {};
}

void ConfusionCounts::Count(uint32_t actual, uint32_t predicted, uint64_t times) {
  METIS_CHECK(actual < classes_ && predicted < classes_);
  counts_[size_t{actual} * classes_ + predicted] += times;
}

Result<void> ConfusionCounts::Add(const ConfusionCounts& other) {
  if (other.classes_ == 0) return {};
  if (classes_ == 0) {
    *this = other;
    return {};
  }
  if (classes_ != other.classes_) {
    return Invalid(Text("confusion counts of ", other.classes_,
                        " classes cannot be pooled with those of ", classes_));
  }
  const uint64_t mine = CappedSum(counts_);
  const uint64_t theirs = CappedSum(other.counts_);
  if (mine > kMaxExamples || theirs > kMaxExamples - mine) {
    return Invalid(Text("confusion counts add up to more than ", kMaxExamples,
                        " examples: no data set is that large"));
  }
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  return {};
}

Result<void> ConfusionCounts::Check(const Declaration& declared) const {
  if (classes_ != declared.counts.size()) {
    return Invalid(Text("counts of ", classes_, " classes, but ", declared.counts.size(),
                        " were declared on joining"));
  }
  for (uint32_t actual = 0; actual < classes_; ++actual) {
    // Cell by cell, so that forged numbers cannot wrap around to the right sum.
    uint64_t left = declared.counts[actual];
    for (uint32_t predicted = 0; predicted < classes_; ++predicted) {
      uint64_t cell = at(actual, predicted);
      if (cell > left) left = UINT64_MAX;
      if (left == UINT64_MAX) break;
      left -= cell;
    }
    if (left != 0) {
      return Invalid(Text("counts of class ", actual, " do not add up to the ",
                          declared.counts[actual], " validation examples declared on joining"));
    }
  }
  return {};
}

double ConfusionCounts::Score(Metric metric) const { return Evaluate(metric, *this); }

double ConfusionCounts::Headline() const { return Accuracy(*this); }

uint64_t ConfusionCounts::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

uint64_t ConfusionCounts::correct() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < classes_; ++i) sum += at(i, i);
  return sum;
}

std::vector<uint64_t> ConfusionCounts::RowSums() const {
  std::vector<uint64_t> sums(classes_);
  for (uint32_t i = 0; i < classes_; ++i) {
    for (uint32_t j = 0; j < classes_; ++j) sums[i] += at(i, j);
  }
  return sums;
}

std::vector<uint64_t> ConfusionCounts::ColumnSums() const {
  std::vector<uint64_t> sums(classes_);
  for (uint32_t i = 0; i < classes_; ++i) {
    for (uint32_t j = 0; j < classes_; ++j) sums[j] += at(i, j);
  }
  return sums;
}

namespace {
double Ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }
}  // namespace

double MicroF1(const ConfusionCounts& counts) {
  std::vector<uint64_t> rows = counts.RowSums();
  std::vector<uint64_t> columns = counts.ColumnSums();
  uint64_t tp = 0, fp = 0, fn = 0;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    tp += counts.at(i, i);
    fp += columns[i] - counts.at(i, i);
    fn += rows[i] - counts.at(i, i);
  }
  return Ratio(static_cast<double>(2 * tp), static_cast<double>(2 * tp + fp + fn));
}

double Accuracy(const ConfusionCounts& counts) {
  return Ratio(static_cast<double>(counts.correct()), static_cast<double>(counts.total()));
}

double MacroF1(const ConfusionCounts& counts) {
  std::vector<uint64_t> rows = counts.RowSums();
  std::vector<uint64_t> columns = counts.ColumnSums();
  double sum = 0;
  int present = 0;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    if (rows[i] + columns[i] == 0) continue;
    ++present;
    sum += static_cast<double>(2 * counts.at(i, i)) / static_cast<double>(rows[i] + columns[i]);
  }
  return Ratio(sum, present);
}

double GeometricMean(const ConfusionCounts& counts) {
  std::vector<uint64_t> rows = counts.RowSums();
  double log_sum = 0;
  int present = 0;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    if (rows[i] == 0) continue;
    ++present;
    if (counts.at(i, i) == 0) return 0;
    log_sum += PortableLog(static_cast<double>(counts.at(i, i)) / static_cast<double>(rows[i]));
  }
  return present == 0 ? 0 : PortableExp(log_sum / present);
}

double Matthews(const ConfusionCounts& counts) {
  std::vector<uint64_t> rows = counts.RowSums();
  std::vector<uint64_t> columns = counts.ColumnSums();
  double total = static_cast<double>(counts.total());
  double products = 0, rows_squared = 0, columns_squared = 0;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    double row = static_cast<double>(rows[i]);
    double column = static_cast<double>(columns[i]);
    products += row * column;
    rows_squared += row * row;
    columns_squared += column * column;
  }
  double numerator = static_cast<double>(counts.correct()) * total - products;
  double denominator =
      std::sqrt(total * total - columns_squared) * std::sqrt(total * total - rows_squared);
  return Ratio(numerator, denominator);
}

std::vector<ClassScores> ScoresByClass(const ConfusionCounts& counts) {
  const std::vector<uint64_t> rows = counts.RowSums();
  const std::vector<uint64_t> columns = counts.ColumnSums();
  std::vector<ClassScores> scores;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    const auto right = static_cast<double>(counts.at(i, i));
    scores.push_back({.examples = rows[i],
                      .precision = Ratio(right, static_cast<double>(columns[i])),
                      .recall = Ratio(right, static_cast<double>(rows[i])),
                      .f1 = Ratio(2 * right, static_cast<double>(rows[i] + columns[i]))});
  }
  return scores;
}

double Evaluate(Metric metric, const ConfusionCounts& counts) {
  double value = 0;
  switch (metric) {
    case Metric::kMicroF1:
      value = MicroF1(counts);
      break;
    case Metric::kAccuracy:
      value = Accuracy(counts);
      break;
    case Metric::kMacroF1:
      value = MacroF1(counts);
      break;
    case Metric::kGeometricMean:
      value = GeometricMean(counts);
      break;
    case Metric::kMatthews:
      value = Matthews(counts);
      break;
    case Metric::kR2:
      METIS_CHECK_MSG(false, "confusion counts have no R2");
  }
  return std::clamp(value, 0.0, 1.0);
}

}  // namespace metis
