// FedAvg: p_k is the number of training examples.
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Candidate;
using federation::Membership;
using federation::Settings;
using federation::WeighingFacts;

class Weighting final : public federation::Weighting {
 public:
  std::optional<double> Weigh(const Candidate& candidate) const override {
    return static_cast<double>(candidate.training_examples);
  }
  double LargestContribution(const Membership& membership) const override {
    return static_cast<double>(membership.largest_training_set());
  }
};

federation::WeightingPart Describe() {
  federation::WeightingPart part;
  part.name = "training-examples";
  part.help = "the number of its training examples (FedAvg)";
  part.make = [](const Settings&) { return std::make_unique<Weighting>(); };
  part.expect = [](const Settings&, const WeighingFacts& facts) -> std::optional<double> {
    return static_cast<double>(facts.training_examples);
  };
  return part;
}

}  // namespace

const federation::WeightingPart& TrainingExamplesWeighting() {
  static const auto* part = new federation::WeightingPart(Describe());
  return *part;
}

}  // namespace metis::policy
