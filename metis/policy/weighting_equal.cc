// Every learner counts the same, however many examples it has and however well its model does.
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Candidate;
using federation::Membership;
using federation::Settings;
using federation::WeighingFacts;

class Weighting final : public federation::Weighting {
 public:
  std::optional<double> Weigh(const Candidate&) const override { return 1; }
  double LargestContribution(const Membership&) const override { return 1; }
};

federation::WeightingPart Describe() {
  federation::WeightingPart part;
  part.name = "equal";
  part.help = "1, so that every learner counts the same";
  part.make = [](const Settings&) { return std::make_unique<Weighting>(); };
  part.expect = [](const Settings&, const WeighingFacts&) -> std::optional<double> { return 1; };
  return part;
}

}  // namespace

const federation::WeightingPart& EqualWeighting() {
  static const auto* part = new federation::WeightingPart(Describe());
  return *part;
}

}  // namespace metis::policy
