// Exact sums: the aggregate is w_c = W / P over the latest model of every learner (paper, section
// III), or over those of the latest round. Current() equals Recompute() bit for bit: see
// federation/community.h. Replacing or withdrawing one learner costs O(M), a round O(M N).
#include <cmath>
#include <map>

#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::AggregatorInputs;
using federation::Contribution;
using federation::Settings;

class Aggregator final : public federation::Aggregator {
 public:
  explicit Aggregator(const AggregatorInputs& inputs)
      : rounds_(inputs.settings.policy.protocol->rounds),
        keep_models_(inputs.settings.keep_models),
        community_(inputs.initial,
                   {inputs.settings.max_parameter, inputs.settings.membership.max_learners},
                   inputs.pool, inputs.store) {}

  const ModelPtr& Current() const override { return community_.Current(); }
  Result<ModelPtr> Recompute() const override { return community_.Recompute(); }
  std::optional<double> contribution(LearnerId learner) const override {
    return community_.contribution(learner);
  }
  double total_contribution() const override { return community_.total_contribution(); }

  Result<void> Replace(LearnerId learner, double contribution, ModelPtr model,
                       double largest) override {
    if (Result<void> raised = community_.RaiseScale(largest); !raised) return raised;
    return community_.Replace(learner, contribution, std::move(model));
  }

  Result<void> ReplaceAll(std::vector<Contribution> contributions, double largest) override {
    std::vector<LearnerId> learners;
    for (const Contribution& each : contributions) learners.push_back(each.learner);
    Result<void> replaced = community_.ReplaceAll(std::move(contributions), largest);
    if (!replaced) return replaced;
    if (!keep_models_) {
      community_.ForgetModels();
      return {};
    }
    // The next round replaces all: only a withdrawal reads them.
    for (LearnerId learner : learners) community_.SetAside(learner);
    return {};
  }

  Result<void> Withdrawable() const override { return {}; }
  Result<void> Withdraw(LearnerId learner) override { return community_.Withdraw(learner); }

  void Save(BinaryWriter& archive) const override { community_.Save(archive); }
  Result<void> Restore(BinaryReader& archive) override {
    return community_.Restore(archive, rounds_);  // set aside, as in ReplaceAll()
  }

 private:
  const bool rounds_;
  const bool keep_models_;
  federation::Community community_;
};

// Doubles over the latest models.
class Oracle final : public federation::AggregatorOracle {
 public:
  explicit Oracle(const Model& initial)
      : aggregate_(initial.parameters().begin(), initial.parameters().end()) {}

  void Replaced(const Term& term) override {
    terms_[term.learner] = term;
    Average();
  }
  void ReplacedAll(const std::vector<Term>& terms) override {
    terms_.clear();
    for (const Term& term : terms) terms_[term.learner] = term;
    Average();
  }
  void Withdrawn(LearnerId learner) override {
    terms_.erase(learner);
    Average();
  }

  const std::vector<double>& aggregate() const override { return aggregate_; }
  double total_contribution() const override {
    double total = 0;
    for (const auto& [learner, term] : terms_) total += term.contribution;
    return total;
  }
  double contribution(LearnerId learner) const override {
    const auto found = terms_.find(learner);
    return found == terms_.end() ? 0 : found->second.contribution;
  }

 private:
  void Average() {
    std::vector<double> sums(aggregate_.size());
    for (const auto& [learner, term] : terms_) {
      for (size_t i = 0; i < sums.size(); ++i) {
        sums[i] += term.contribution * static_cast<double>(term.model->parameters()[i]);
      }
    }
    const double total = total_contribution();
    if (!(total > 0)) return;  // it stays what it was
    for (size_t i = 0; i < sums.size(); ++i) aggregate_[i] = sums[i] / total;
  }

  std::vector<double> aggregate_;
  std::map<LearnerId, Term> terms_;
};

federation::AggregatorPart Describe() {
  federation::AggregatorPart part;
  part.name = "sums";
  part.help = "the average of the learners' latest models, weighted by their contributions";
  part.make = [](const AggregatorInputs& inputs) { return std::make_unique<Aggregator>(inputs); };
  part.expect = [](const Settings&, const Model& initial) {
    return std::make_unique<Oracle>(initial);
  };
  return part;
}

}  // namespace

const federation::AggregatorPart& SumsAggregator() {
  static const auto* part = new federation::AggregatorPart(Describe());
  return *part;
}

}  // namespace metis::policy
