// The asynchronous protocol: every update renews the community at once, through the cache, and its
// learner gets the result. The other learners go on with what they have.
#include <deque>

#include "metis/core/check.h"
#include "metis/federation/protocol.h"

namespace metis::federation {
namespace {

class AsyncProtocol final : public Protocol {
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

  std::vector<LearnerId> Begin(Version, const Membership& membership) override {
    return membership.LiveLearners();
  }

  Welcome Arrived(LearnerId, bool same_life) override {
    // Back in the same life it still trains on what it has, and asks if it has nothing.
    return same_life ? Welcome::kNothing : Welcome::kSend;
  }
  bool Owes(LearnerId) const override { return true; }

  Result<void> Admit(const UpdateId&, Version) const override { return {}; }
  void Received(LearnerId) override {}
  void Refused(LearnerId) override {}
  void Offer(WeighedUpdate update) override { offered_.push_back(std::move(update)); }

  std::optional<Commit> TryCommit(Version, double largest, const Membership&,
                                  std::vector<Failed>& failed) override {
    while (!offered_.empty()) {
      WeighedUpdate update = std::move(offered_.front());
      offered_.pop_front();
      Result<void> replaced = community_.RaiseScale(largest);
      if (replaced) {
        replaced = community_.Replace(update.id.learner, update.contribution, update.model);
      }
      if (!replaced) {
        failed.push_back({update.id, replaced.error()});
        continue;
      }
      Commit commit;
      commit.receivers.push_back(update.id.learner);
      commit.updates.push_back(std::move(update));
      return commit;
    }
    return std::nullopt;
  }

  // Offers are taken up before an event's handling ends, so there are none between events.
  std::vector<UpdateId> Uncommitted() const override { return {}; }
  void Abandon() override { METIS_CHECK(offered_.empty()); }

  std::optional<std::pair<uint64_t, Duration>> Deadline() const override { return std::nullopt; }
  void DeadlinePassed(uint64_t) override {}
  Result<void> Withdraw(LearnerId learner) override { return community_.Withdraw(learner); }

  void Save(BinaryWriter& archive) const override {
    METIS_CHECK(offered_.empty());
    community_.Save(archive);
  }
  Result<void> Restore(BinaryReader& archive) override { return community_.Restore(archive); }

 private:
  Community community_;
  std::deque<WeighedUpdate> offered_;
};

}  // namespace

std::unique_ptr<Protocol> MakeAsyncProtocol(const ProtocolParts& parts) {
  return std::make_unique<AsyncProtocol>(parts);
}

}  // namespace metis::federation
