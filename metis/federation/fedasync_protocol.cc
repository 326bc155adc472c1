// FedAsync with the polynomial staleness function (Xie et al. 2019), for comparison:
//   alpha_t = alpha * (staleness + 1)^-a,  w_c = (1 - alpha_t) w_c + alpha_t w_k
// with staleness = the version before the commit minus the version received. The mix is no sum over
// learners: nothing can be withdrawn from it, and there is nothing to recompute.
#include <deque>
#include <map>

#include "metis/core/check.h"
#include "metis/core/kernels.h"
#include "metis/core/math.h"
#include "metis/core/text.h"
#include "metis/federation/protocol.h"

namespace metis::federation {
namespace {

class FedAsyncProtocol final : public Protocol {
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

  std::vector<LearnerId> Begin(Version, const Membership& membership) override {
    return membership.LiveLearners();
  }
  Welcome Arrived(LearnerId, bool same_life) override {
    return same_life ? Welcome::kNothing : Welcome::kSend;
  }
  bool Owes(LearnerId) const override { return true; }

  Result<void> Admit(const UpdateId&, Version) const override { return {}; }
  void Received(LearnerId) override {}
  void Refused(LearnerId) override {}
  void Offer(WeighedUpdate update) override { offered_.push_back(std::move(update)); }

  std::optional<Commit> TryCommit(Version next, double, const Membership&,
                                  std::vector<Failed>&) override {
    if (offered_.empty()) return std::nullopt;
    WeighedUpdate update = std::move(offered_.front());
    offered_.pop_front();
    auto staleness = static_cast<double>(next.value() - 1 - update.base.value());
    update.contribution =
        settings_.alpha / PortablePow(staleness + 1, settings_.staleness_exponent);
    latest_alpha_[update.id.learner] = update.contribution;
    ModelDraft draft = pool_.Draft();
    BestKernels().mix(current_->parameters().data(), update.model->parameters().data(),
                      update.contribution, draft.parameters().data(), current_->size());
    current_ = std::move(draft).Seal();
    Commit commit;
    commit.receivers.push_back(update.id.learner);
    commit.updates.push_back(std::move(update));
    return commit;
  }

  // Offers are taken up before an event's handling ends, so there are none between events.
  std::vector<UpdateId> Uncommitted() const override { return {}; }
  void Abandon() override { METIS_CHECK(offered_.empty()); }

  std::optional<std::pair<uint64_t, Duration>> Deadline() const override { return std::nullopt; }
  void DeadlinePassed(uint64_t) override {}
  Result<void> Withdraw(LearnerId learner) override {
    return Invalid(Text("learner ", learner,
                        " cannot be withdrawn: FedAsync's mix keeps no share of ",
                        "a single learner; the cached policies (async-dvw, async-fedavg) do"));
  }

  void Save(BinaryWriter& archive) const override {
    METIS_CHECK(offered_.empty());
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
  std::deque<WeighedUpdate> offered_;
};

}  // namespace

std::unique_ptr<Protocol> MakeFedAsyncProtocol(const ProtocolParts& parts) {
  return std::make_unique<FedAsyncProtocol>(parts);
}

}  // namespace metis::federation
