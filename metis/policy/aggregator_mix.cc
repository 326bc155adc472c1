// FedAsync with the polynomial staleness function (Xie et al. 2019), for comparison:
//   alpha_t = alpha * (staleness + 1)^-a,  w_c = (1 - alpha_t) w_c + alpha_t w_k
// with staleness = the version before the commit minus the version received. The mix is no sum over
// learners: nothing can be withdrawn from it, and there is nothing to recompute.
#include <cmath>
#include <map>

#include "metis/core/kernels.h"
#include "metis/core/math.h"
#include "metis/core/text.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::AggregatorInputs;
using federation::Contribution;
using federation::PartConflict;
using federation::PartKey;
using federation::Settings;

constexpr PartKey kAlpha = {.section = "fedasync",
                            .name = "alpha",
                            .fallback = 0.5,
                            .allowed = federation::NumberRange{0, 1, federation::kAbove},
                            .documentation = "The mixing weight of a fresh update."};
constexpr PartKey kExponent = {
    .section = "fedasync",
    .name = "staleness_exponent",
    .fallback = 0.5,
    .allowed = federation::NumberRange{0, 100},
    .documentation =
        "The exponent a of alpha * (staleness + 1)^-a: how fast stale updates lose "
        "weight."};

class Aggregator final : public federation::Aggregator {
 public:
  explicit Aggregator(const AggregatorInputs& inputs)
      : alpha_(inputs.settings.values.Get<double>(kAlpha)),
        exponent_(inputs.settings.values.Get<double>(kExponent)),
        pool_(inputs.pool),
        current_(inputs.initial) {}

  const ModelPtr& Current() const override { return current_; }
  Result<ModelPtr> Recompute() const override { return current_; }
  std::optional<double> contribution(LearnerId learner) const override {
    auto found = latest_alpha_.find(learner);
    if (found == latest_alpha_.end()) return std::nullopt;
    return found->second;
  }
  double total_contribution() const override { return 1; }

  std::optional<double> OwnWeight(uint64_t version_staleness) const override {
    return alpha_ / PortablePow(static_cast<double>(version_staleness) + 1, exponent_);
  }

  Result<void> Replace(LearnerId learner, double contribution, ModelPtr model, double) override {
    latest_alpha_[learner] = contribution;
    ModelDraft draft = pool_.Draft();
    BestKernels().mix(current_->parameters().data(), model->parameters().data(), contribution,
                      draft.parameters().data(), current_->size());
    current_ = std::move(draft).Seal();
    return {};
  }
  Result<void> ReplaceAll(std::vector<Contribution>, double) override {
    METIS_CHECK(false);  // serves no rounds
  }

  Result<void> Withdrawable() const override {
    return Invalid(
        "FedAsync mixes every update into one model and keeps none apart: none can be taken out "
        "again; the cached policies (async-dvw, async-fedavg) keep them");
  }
  Result<void> Withdraw(LearnerId) override { return Withdrawable(); }

  void Save(BinaryWriter& archive) const override {
    archive("current", current_);
    archive("latest_alpha", latest_alpha_);
  }
  Result<void> Restore(BinaryReader& archive) override {
    archive("current", current_);
    archive("latest_alpha", latest_alpha_);
    if (!current_) return Invalid("the snapshot has no community model");
    return {};
  }

 private:
  const double alpha_;
  const double exponent_;
  ModelPool& pool_;
  ModelPtr current_;
  std::map<LearnerId, double> latest_alpha_;
};

class Oracle final : public federation::AggregatorOracle {
 public:
  Oracle(const Settings& settings, const Model& initial)
      : alpha_(settings.values.Get<double>(kAlpha)),
        exponent_(settings.values.Get<double>(kExponent)),
        mix_(initial.parameters().begin(), initial.parameters().end()) {}

  void Replaced(const Term& term) override {
    for (size_t i = 0; i < mix_.size(); ++i) {
      const double mixed = (1 - term.contribution) * mix_[i] +
                           term.contribution * static_cast<double>(term.model->parameters()[i]);
      mix_[i] = static_cast<double>(static_cast<float>(mixed));
    }
  }
  void ReplacedAll(const std::vector<Term>&) override {}
  void Withdrawn(LearnerId) override {}

  const std::vector<double>& aggregate() const override { return mix_; }
  double total_contribution() const override { return 1; }
  double contribution(LearnerId) const override { return 0; }
  std::optional<double> OwnWeight(uint64_t version_staleness) const override {
    return alpha_ * std::pow(static_cast<double>(version_staleness) + 1, -exponent_);
  }

 private:
  const double alpha_;
  const double exponent_;
  std::vector<double> mix_;
};

std::vector<PartConflict> Check(const Settings& settings) {
  const federation::WeightingPart& weighting = *settings.policy.weighting;
  if (weighting.evaluation == nullptr) return {};
  return {{{"federation.weighting", "federation.protocol"},
           Text("weighting = \"", weighting.name, "\" has no effect with protocol = \"",
                settings.policy.protocol->name,
                "\", which weighs by staleness alone: use protocol = \"asynchronous\" for it")}};
}

federation::AggregatorPart Describe() {
  federation::AggregatorPart part;
  part.name = "mix";
  part.help = "one model that every update is mixed into, the less the older its base is";
  part.keys = {kAlpha, kExponent};
  part.section_help = "Staleness-damped mixing (protocol \"fedasync\").";
  part.check = Check;
  part.protocol = "fedasync";
  part.weighs = true;
  part.serves_rounds = false;
  part.draw = [](Random& random, Settings& settings) {
    settings.values.Set(kAlpha, random.Uniform(0.2, 0.9));
    settings.values.Set(kExponent, random.Uniform(0, 1));
  };
  part.make = [](const AggregatorInputs& inputs) { return std::make_unique<Aggregator>(inputs); };
  part.expect = [](const Settings& settings, const Model& initial) {
    return std::make_unique<Oracle>(settings, initial);
  };
  return part;
}

}  // namespace

const federation::AggregatorPart& MixAggregator() {
  static const auto* part = new federation::AggregatorPart(Describe());
  return *part;
}

}  // namespace metis::policy
