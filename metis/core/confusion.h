// Confusion counts of a classifier and the metrics that DVW can weigh a learner by (paper, section
// IV). CM[i][j] counts examples of class i that were predicted as class j. Pooling is addition of
// counts, so the pooled metric is that of one large validation set, whoever holds its parts.
// A kind of Statistics (statistics.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/metric.h"
#include "metis/core/result.h"

namespace metis {

class ConfusionCounts {
 public:
  static constexpr std::string_view kName = "classification";
  static constexpr std::string_view kHeadline = "accuracy";
  static constexpr std::array kMetrics = {Metric::kMicroF1, Metric::kAccuracy, Metric::kMacroF1,
                                          Metric::kGeometricMean, Metric::kMatthews};

  // What a participant says of its validation set when it joins: examples of each class.
  struct Declaration {
    static constexpr std::string_view kName = ConfusionCounts::kName;
    static constexpr std::string_view kParts = "classes";
    std::vector<uint64_t> counts = {};

    uint64_t examples() const;  // at most 2^64 - 1, never wrapped around
    uint32_t parts() const { return static_cast<uint32_t>(counts.size()); }
    Result<void> Validate() const;
    Result<void> Add(const Declaration& other);
    template <typename A>
    void Describe(A& archive) {
      archive("counts", counts);
    }
    friend bool operator==(const Declaration&, const Declaration&) = default;
  };

  ConfusionCounts() = default;  // of no classes: nothing was counted
  explicit ConfusionCounts(uint32_t classes);
  // The most examples that one evaluator's counts may add up to; leaves room to pool thousands of
  // them.
  static constexpr uint64_t kMaxExamples = uint64_t{1} << 48;

  // Row-major, classes * classes of them and at most kMaxExamples in all, else an error.
  static Result<ConfusionCounts> FromCounts(uint32_t classes, std::vector<uint64_t> counts);

  uint32_t classes() const { return classes_; }
  const std::vector<uint64_t>& counts() const { return counts_; }
  uint64_t at(uint32_t actual, uint32_t predicted) const {
    return counts_[size_t{actual} * classes_ + predicted];
  }

  void Count(uint32_t actual, uint32_t predicted, uint64_t times = 1);
  // Pools another evaluator's counts. An error, and nothing changes, where they are of other
  // classes (of none on either side is fine), or more than kMaxExamples together.
  Result<void> Add(const ConfusionCounts& other);
  // An error that names the class whose counts do not add up to the declared examples. O(C^2).
  Result<void> Check(const Declaration& declared) const;
  Result<void> Validate() const;

  double Score(Metric metric) const;  // Evaluate(); checked: one of kMetrics
  double Headline() const;            // Accuracy()

  template <typename A>
  void Describe(A& archive) {
    archive("classes", classes_);
    archive("counts", counts_);
  }

  uint64_t examples() const { return total(); }
  uint64_t total() const;
  uint64_t correct() const;               // the diagonal: TP over all classes
  std::vector<uint64_t> RowSums() const;  // examples of each actual class
  std::vector<uint64_t> ColumnSums() const;

  friend bool operator==(const ConfusionCounts&, const ConfusionCounts&) = default;

 private:
  uint32_t classes_ = 0;
  std::vector<uint64_t> counts_;
};

// TP = sum_i CM[i][i], FP = sum_j (column j - CM[j][j]), FN = sum_i (row i - CM[i][i]):
// 2TP / (2TP + FP + FN). For single-label data this equals accuracy.
double MicroF1(const ConfusionCounts& counts);
double Accuracy(const ConfusionCounts& counts);
// Mean F1 of the classes that occur, as actual or as predicted.
double MacroF1(const ConfusionCounts& counts);
// (product of recalls)^(1/n) over the n classes that have examples; 0 if one is never recalled.
double GeometricMean(const ConfusionCounts& counts);
// Multi-class Matthews correlation, in [-1, 1]; 0 where it is undefined.
double Matthews(const ConfusionCounts& counts);

// How well one class is told from the others.
struct ClassScores {
  uint64_t examples = 0;  // of the class
  double precision = 0;   // of what was predicted as it, the part that is; 0 where nothing was
  double recall = 0;      // of its examples, the part that was found; 0 where there are none
  double f1 = 0;          // 2 TP / (2 TP + FP + FN)
};
std::vector<ClassScores> ScoresByClass(const ConfusionCounts& counts);

// The metric as a contribution: in [0, 1], a negative correlation clipped to 0, no examples: 0.
// Checked: one of ConfusionCounts::kMetrics.
double Evaluate(Metric metric, const ConfusionCounts& counts);

}  // namespace metis
