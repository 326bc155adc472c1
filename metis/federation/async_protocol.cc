// The asynchronous protocol: every update renews the community at once, through the cache, and its
// learner gets the result. The other learners go on with what they have.
#include <algorithm>

#include "metis/federation/immediate_protocol.h"

namespace metis::federation {
namespace {

class AsyncProtocol final : public ImmediateProtocol {
 public:
  explicit AsyncProtocol(const ProtocolParts& parts)
      : community_(parts.initial,
                   {parts.settings.max_parameter, parts.settings.membership.max_learners},
                   parts.pool, parts.store) {}

  const ModelPtr& Current() const override { return community_.Current(); }
  Result<ModelPtr> Recompute() const override { return community_.Recompute(); }
  std::optional<double> contribution(LearnerId learner) const override {
    return community_.contribution(learner);
  }
  double total_contribution() const override { return community_.total_contribution(); }

  std::optional<Commit> TryCommit(Version, double largest, const Membership&,
                                  std::vector<Failed>& failed) override {
    while (std::optional<WeighedUpdate> update = TakeOffered()) {
      const ModelPtr before = community_.Current();
      // Its learner may have begun a new life with fewer examples since it was received.
      Result<void> replaced = community_.RaiseScale(std::max(largest, update->contribution));
      if (replaced) {
        replaced = community_.Replace(update->id.learner, update->contribution, update->model);
      }
      if (replaced) return CommitOf(*std::move(update));
      failed.push_back({update->id, replaced.error()});
      // A raised scale may have changed the last bits: then that is a version of its own.
      if (community_.Current() != before) return Commit();
    }
    return std::nullopt;
  }

  Result<void> Withdrawable() const override { return {}; }
  Result<void> Withdraw(LearnerId learner) override { return community_.Withdraw(learner); }
  void Save(BinaryWriter& archive) const override { community_.Save(archive); }
  Result<void> Restore(BinaryReader& archive) override { return community_.Restore(archive); }

 private:
  Community community_;
};

}  // namespace

std::unique_ptr<Protocol> MakeAsyncProtocol(const ProtocolParts& parts) {
  return std::make_unique<AsyncProtocol>(parts);
}

}  // namespace metis::federation
