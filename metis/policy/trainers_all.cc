// All live learners train in every round, also one that arrives during it.
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Settings;

class Selector final : public federation::TrainerSelector {
 public:
  std::vector<LearnerId> Choose(const std::vector<LearnerId>& live, uint64_t) const override {
    return live;
  }
  bool TakesLatecomer(LearnerId, uint64_t) const override { return true; }
};

federation::TrainersPart Describe() {
  federation::TrainersPart part;
  part.name = "all";
  part.help = "every learner that is there";
  part.make = [](const Settings&) { return std::make_unique<Selector>(); };
  part.expect = [](const Settings&, LearnerId, uint64_t, const std::vector<LearnerId>&) {
    return true;
  };
  return part;
}

}  // namespace

const federation::TrainersPart& AllTrainers() {
  static const auto* part = new federation::TrainersPart(Describe());
  return *part;
}

}  // namespace metis::policy
