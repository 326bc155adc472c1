// Distributed validation weighting, DVW (paper, section IV): the other learners evaluate the model,
// and p_k is a metric of the pooled confusion counts, if they cover enough of the validation
// examples; else the learner keeps its previous p_k.
#include <algorithm>
#include <cmath>

#include "metis/core/confusion.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Candidate;
using federation::EvaluationTerms;
using federation::Membership;
using federation::PartConflict;
using federation::PartKey;
using federation::Settings;
using federation::WeighingFacts;

constexpr std::string_view kSection = "validation";
constexpr Duration kYear = Duration::Hours(24 * 365);
// In the order of Metric, of which these are classification's.
constexpr std::array<std::string_view, 5> kMetrics = {"micro-f1", "accuracy", "macro-f1",
                                                      "geometric-mean", "matthews"};

constexpr PartKey kMetric = {
    .section = kSection,
    .name = "metric",
    .fallback = std::string_view("micro-f1"),
    .allowed = federation::WordList{kMetrics},
    .documentation = "The metric of the pooled confusion counts that is a learner's contribution."};
constexpr PartKey kCountOwn = {.section = kSection,
                               .name = "count_own_validation",
                               .fallback = true,
                               .allowed = federation::Flag{},
                               .documentation =
                                   "Whether the counts of the learner that asks are "
                                   "pooled with those of the others."};
constexpr PartKey kMinCoverage = {
    .section = kSection,
    .name = "min_coverage",
    .fallback = 2.0 / 3,
    .allowed = federation::NumberRange{0, 1},
    .documentation =
        "The share of the asked evaluators' examples that must have answered; with "
        "less, the learner keeps its previous contribution.",
    .default_words = "2/3"};
constexpr PartKey kDeadline = {
    .section = kSection,
    .name = "deadline",
    .fallback = Duration::Seconds(120),
    .allowed = federation::TimeRange{{}, kYear, federation::kAbove},
    .documentation = "How long the evaluators of one update have to answer."};

class Weighting final : public federation::Weighting {
 public:
  explicit Weighting(const Settings& settings)
      : metric_(settings.values.Get<Metric>(kMetric)),
        min_coverage_(settings.values.Get<double>(kMinCoverage)) {}

  std::optional<double> Weigh(const Candidate& candidate) const override {
    if (candidate.evaluation.coverage < min_coverage_) return std::nullopt;
    if (candidate.evaluation.pooled.examples() == 0) return std::nullopt;
    // A metric that these statistics lack was refused when they were declared.
    Result<double> score = candidate.evaluation.pooled.Score(metric_);
    return score ? std::optional(*score) : std::nullopt;
  }
  double LargestContribution(const Membership&) const override { return 1; }
  Result<void> Suits(const Declared& validation_set) const override {
    return validation_set.CheckMetric(metric_);
  }

 private:
  const Metric metric_;
  const double min_coverage_;
};

EvaluationTerms Terms(const Settings& settings) {
  return {.count_own = settings.values.Get<bool>(kCountOwn),
          .deadline = settings.values.Get<Duration>(kDeadline)};
}

std::vector<PartConflict> Check(const Settings& settings) {
  if (Terms(settings).count_own || settings.membership.learners >= 2) return {};
  return {{{"validation.count_own_validation", "federation.learners"},
           "count_own_validation = false leaves no evaluator for a single learner"}};
}

void Draw(Random& random, Settings& settings) {
  federation::PartValues& values = settings.values;
  values.Set(kMetric, std::string(kMetrics[random.Below(kMetrics.size())]));
  values.Set(kCountOwn, random.Chance(0.7));
  values.Set(kMinCoverage, random.Uniform(0.3, 1));
  values.Set(kDeadline, Duration::FromSeconds(random.Uniform(5, 60)));
}

// --- What the laws expect, straight from the definitions of the metrics
// ---------------------------------------------------------------------

using Matrix = std::vector<std::vector<double>>;

double ExpectMetric(std::string_view metric, const Matrix& cm) {
  const size_t n = cm.size();
  std::vector<double> rows(n), columns(n);
  double total = 0, diagonal = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      rows[i] += cm[i][j];
      columns[j] += cm[i][j];
      total += cm[i][j];
    }
    diagonal += cm[i][i];
  }
  double f1_sum = 0, occurring = 0, recalls = 1, held = 0, rc = 0, rr = 0, cc = 0;
  for (size_t i = 0; i < n; ++i) {
    if (rows[i] + columns[i] > 0) {
      f1_sum += 2 * cm[i][i] / (rows[i] + columns[i]);
      ++occurring;
    }
    if (rows[i] > 0) {
      recalls *= cm[i][i] / rows[i];
      ++held;
    }
    rc += rows[i] * columns[i];
    rr += rows[i] * rows[i];
    cc += columns[i] * columns[i];
  }
  if (metric == "macro-f1") return f1_sum / occurring;
  if (metric == "geometric-mean") return std::pow(recalls, 1 / held);
  if (metric == "matthews") {
    const double denominator = std::sqrt((total * total - cc) * (total * total - rr));
    const double mcc = denominator == 0 ? 0 : (diagonal * total - rc) / denominator;
    return std::max(0.0, mcc);
  }
  return diagonal / total;  // accuracy, which micro-F1 equals
}

std::optional<double> Expect(const Settings& settings, const WeighingFacts& facts) {
  double examples = 0;
  for (const auto& row : facts.pooled) {
    for (double cell : row) examples += cell;
  }
  const bool enough = facts.coverage >= settings.values.Get<double>(kMinCoverage) && examples > 0;
  if (!enough) return std::nullopt;
  return ExpectMetric(settings.values.Get<std::string>(kMetric), facts.pooled);
}

federation::WeightingPart Describe() {
  federation::WeightingPart part;
  part.name = "validation";
  part.help = "how well its model does on the validation data of all learners (DVW)";
  part.keys = {kMetric, kCountOwn, kMinCoverage, kDeadline};
  part.section_help = "Distributed validation weighting (weighting \"validation\").";
  part.check = Check;
  part.draw = Draw;
  part.evaluation = Terms;
  part.make = [](const Settings& settings) { return std::make_unique<Weighting>(settings); };
  part.expect = Expect;
  return part;
}

}  // namespace

const federation::WeightingPart& ValidationWeighting() {
  static const auto* part = new federation::WeightingPart(Describe());
  return *part;
}

}  // namespace metis::policy
