// The next community model is the aggregate itself.
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Settings;

class Optimizer final : public federation::ServerOptimizer {
 public:
  ModelPtr Step(const ModelPtr&, const ModelPtr& aggregate) override { return aggregate; }
  void Save(BinaryWriter&) const override {}
  Result<void> Restore(BinaryReader&) override { return {}; }
};

class Oracle final : public federation::OptimizerOracle {
 public:
  std::vector<double> Step(const std::vector<double>&,
                           const std::vector<double>& aggregate) override {
    return aggregate;
  }
};

federation::OptimizerPart Describe() {
  federation::OptimizerPart part;
  part.name = "identity";
  part.help = "the community model is the aggregate itself";
  part.keeps_model = false;
  part.make = [](const Settings&, ModelPool&) { return std::make_unique<Optimizer>(); };
  part.expect = [](const Settings&) { return std::make_unique<Oracle>(); };
  return part;
}

}  // namespace

const federation::OptimizerPart& IdentityOptimizer() {
  static const auto* part = new federation::OptimizerPart(Describe());
  return *part;
}

}  // namespace metis::policy
