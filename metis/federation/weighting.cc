#include "metis/federation/weighting.h"

#include "metis/core/check.h"

namespace metis::federation {
namespace {

class TrainingExamples final : public Weighting {
 public:
  bool NeedsEvaluation() const override { return false; }

  std::optional<double> Weigh(uint64_t training_examples, const Evaluation&) const override {
    return static_cast<double>(training_examples);
  }

  double LargestContribution(const Membership& membership) const override {
    return static_cast<double>(membership.largest_training_set());
  }
};

class DistributedValidation final : public Weighting {
 public:
  explicit DistributedValidation(const ValidationSettings& settings) : settings_(settings) {}

  bool NeedsEvaluation() const override { return true; }

  std::optional<double> Weigh(uint64_t, const Evaluation& evaluation) const override {
    if (evaluation.coverage < settings_.min_coverage) return std::nullopt;
    if (evaluation.pooled.examples() == 0) return std::nullopt;
    // A metric that these statistics lack was refused when they were declared.
    Result<double> score = evaluation.pooled.Score(settings_.metric);
    return score ? std::optional(*score) : std::nullopt;
  }

  double LargestContribution(const Membership&) const override { return 1; }

 private:
  ValidationSettings settings_;
};

}  // namespace

std::unique_ptr<Weighting> MakeWeighting(WeightingKind kind, const ValidationSettings& validation) {
  switch (kind) {
    case WeightingKind::kTrainingExamples:
      return std::make_unique<TrainingExamples>();
    case WeightingKind::kValidation:
      return std::make_unique<DistributedValidation>(validation);
  }
  METIS_CHECK(false);
}

}  // namespace metis::federation
