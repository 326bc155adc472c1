// Every other live learner that has validation data evaluates every update (paper, section IV).
#include <algorithm>

#include "metis/core/text.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Settings;
using federation::UpdateId;

class Selector final : public federation::EvaluatorSelector {
 public:
  std::vector<LearnerId> Choose(const std::vector<LearnerId>& able,
                                const UpdateId&) const override {
    return able;
  }
};

std::optional<std::string> Expect(const Settings&, const UpdateId& update,
                                  const std::vector<LearnerId>& able,
                                  const std::vector<LearnerId>& asked) {
  for (LearnerId learner : able) {
    if (std::find(asked.begin(), asked.end(), learner) != asked.end()) continue;
    return Text("the live learner ", learner, " was not asked to evaluate the update of learner ",
                update.learner);
  }
  return std::nullopt;
}

federation::EvaluatorsPart Describe() {
  federation::EvaluatorsPart part;
  part.name = "all-others";
  part.help = "all of them";
  part.make = [](const Settings&) { return std::make_unique<Selector>(); };
  part.expect = Expect;
  return part;
}

}  // namespace

const federation::EvaluatorsPart& AllOthersEvaluators() {
  static const auto* part = new federation::EvaluatorsPart(Describe());
  return *part;
}

}  // namespace metis::policy
