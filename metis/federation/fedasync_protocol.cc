// FedAsync with the polynomial staleness function (Xie et al. 2019), for comparison:
//   alpha_t = alpha * (staleness + 1)^-a,  w_c = (1 - alpha_t) w_c + alpha_t w_k
// with staleness = the version before the commit minus the version received. The mix is no sum over
// learners: nothing can be withdrawn from it, and there is nothing to recompute.
#include <map>

#include "metis/core/kernels.h"
#include "metis/core/math.h"
#include "metis/core/text.h"
#include "metis/federation/immediate_protocol.h"

namespace metis::federation {
namespace {

class FedAsyncProtocol final : public ImmediateProtocol {
 public:
  explicit FedAsyncProtocol(const ProtocolParts& parts)
      : settings_(parts.settings.fedasync), pool_(parts.pool), current_(parts.initial) {}

  const ModelPtr& Current() const override { return current_; }
  Result<ModelPtr> Recompute() const override { return current_; }
  std::optional<double> contribution(LearnerId learner) const override {
    auto found = latest_alpha_.find(learner);
    if (found == latest_alpha_.end()) return std::nullopt;
    return found->second;
  }
  double total_contribution() const override { return 1; }

  std::optional<Commit> TryCommit(Version next, double, const Membership&,
                                  std::vector<Failed>&) override {
    std::optional<WeighedUpdate> update = TakeOffered();
    if (!update) return std::nullopt;
    auto staleness = static_cast<double>(next.value() - 1 - update->base.value());
    update->contribution =
        settings_.alpha / PortablePow(staleness + 1, settings_.staleness_exponent);
    latest_alpha_[update->id.learner] = update->contribution;
    ModelDraft draft = pool_.Draft();
    BestKernels().mix(current_->parameters().data(), update->model->parameters().data(),
                      update->contribution, draft.parameters().data(), current_->size());
    current_ = std::move(draft).Seal();
    return CommitOf(*std::move(update));
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
  FedAsyncSettings settings_;
  ModelPool& pool_;
  ModelPtr current_;
  std::map<LearnerId, double> latest_alpha_;
};

}  // namespace

std::unique_ptr<Protocol> MakeFedAsyncProtocol(const ProtocolParts& parts) {
  return std::make_unique<FedAsyncProtocol>(parts);
}

}  // namespace metis::federation
