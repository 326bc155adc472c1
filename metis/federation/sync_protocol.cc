// The synchronous protocol: rounds. A round ends when every participant that is live has reported,
// or at its deadline, with at least a quorum of updates; the community model is then the weighted
// average of the round's updates, and everybody starts the next round from it.
//
// A learner that arrives during a round takes part in it. A late update, trained on an earlier
// round's model, is refused (its learner has been told to restart) or, if so set, counts in the
// round it reaches (its learner was left to finish).
#include <algorithm>
#include <map>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"
#include "metis/federation/protocol.h"

namespace metis::federation {
namespace {

class SyncProtocol final : public Protocol {
 public:
  explicit SyncProtocol(const ProtocolParts& parts)
      : settings_(parts.settings.sync),
        quorum_(std::max(1u, parts.settings.membership.quorum)),
        community_(parts.initial,
                   {parts.settings.max_parameter, parts.settings.membership.max_learners},
                   parts.pool, parts.store) {}

  const ModelPtr& Current() const override { return community_.Current(); }
  Result<ModelPtr> Recompute() const override { return community_.Recompute(); }
  std::optional<double> contribution(LearnerId learner) const override {
    return community_.contribution(learner);
  }
  double total_contribution() const override { return community_.total_contribution(); }

  std::vector<LearnerId> Begin(Version version, const Membership& membership) override {
    StartRound(version, membership);
    return membership.LiveLearners();
  }

  Welcome Arrived(LearnerId learner, bool same_life) override {
    if (round_ == 0) return Welcome::kNothing;
    auto [participant, added] = participants_.emplace(learner, State::kTraining);
    if (participant->second == State::kRefused && !same_life)
      participant->second = State::kTraining;
    if (participant->second != State::kTraining) return Welcome::kNothing;
    if (!same_life) return Welcome::kSend;
    // Back in a round it knows, or left to finish: it goes on training.
    if (!added || settings_.late_updates == LateUpdates::kKeep) return Welcome::kNothing;
    return Welcome::kSendRestart;
  }

  bool Owes(LearnerId learner) const override {
    auto found = participants_.find(learner);
    return found != participants_.end() && found->second == State::kTraining;
  }

  Result<void> Admit(const UpdateId& id, Version base) const override {
    auto found = participants_.find(id.learner);
    if (found != participants_.end() &&
        (found->second == State::kReceived || found->second == State::kReported)) {
      return Invalid(Text("learner ", id.learner, " has already reported in round ", round_));
    }
    if (settings_.late_updates == LateUpdates::kKeep || base >= base_) return {};
    return Invalid(Text("the update of learner ", id.learner, " was trained on version ", base,
                        ", but round ", round_, " began with version ", base_));
  }
  void Received(LearnerId learner) override { participants_[learner] = State::kReceived; }
  // What a learner reported, in an earlier life perhaps, counts whatever it sends afterwards.
  void Refused(LearnerId learner) override {
    if (Owes(learner)) participants_[learner] = State::kRefused;
  }
  void Offer(WeighedUpdate update) override {
    participants_[update.id.learner] = State::kReported;
    reported_[update.id.learner] = std::move(update);
  }

  std::optional<Commit> TryCommit(Version next, double largest, const Membership& membership,
                                  std::vector<Failed>& failed) override {
    if (!Ready(membership)) return std::nullopt;
    // A member may have begun a new life with fewer examples since it reported.
    for (const auto& [learner, update] : reported_)
      largest = std::max(largest, update.contribution);
    const Result<void> replaced = community_.ReplaceAll(Contributions(), largest);
    Commit commit;
    for (auto& [learner, update] : reported_) {
      if (replaced) {
        // The next round replaces all: only a withdrawal reads it.
        if (settings_.keep_models) community_.SetAside(learner);
        commit.updates.push_back(std::move(update));
      } else {
        failed.push_back({update.id, replaced.error()});
        participants_[learner] = State::kTraining;
      }
    }
    reported_.clear();
    if (replaced && !settings_.keep_models) community_.ForgetModels();
    if (!replaced) return std::nullopt;
    const std::map<LearnerId, State> before = std::exchange(participants_, {});
    StartRound(next, membership);
    for (const auto& [learner, state] : participants_) {
      auto previous = before.find(learner);
      bool still_training = previous != before.end() && previous->second == State::kTraining;
      if (still_training && settings_.late_updates == LateUpdates::kKeep) continue;
      commit.receivers.push_back(learner);
    }
    commit.restart = true;
    return commit;
  }

  std::vector<UpdateId> Uncommitted() const override {
    std::vector<UpdateId> ids;
    for (const auto& [learner, update] : reported_) ids.push_back(update.id);
    return ids;
  }
  void Abandon() override { reported_.clear(); }

  std::optional<std::pair<uint64_t, Duration>> Deadline() const override {
    if (round_ == 0 || settings_.round_deadline >= Duration::Forever()) return std::nullopt;
    return std::pair{round_, settings_.round_deadline};
  }
  void DeadlinePassed(uint64_t round) override { deadline_passed_ |= round == round_; }

  Result<void> Withdrawable() const override {
    if (settings_.keep_models) return {};
    return Invalid(
        "of a finished round this federation keeps the mix and not its models: none can be taken "
        "out again. The next round's mix is made of what is sent for it alone. To be able to "
        "withdraw, set storage.durability = \"full\", or storage.memory_mb");
  }
  Result<void> Withdraw(LearnerId learner) override {
    if (Result<void> able = Withdrawable(); !able) return able;
    return community_.Withdraw(learner);
  }

  void Save(BinaryWriter& archive) const override {
    community_.Save(archive);
    archive("round", round_);
    archive("base", base_);
    archive("deadline_passed", deadline_passed_);
    archive("participants", participants_);
    archive("reported", reported_);
  }
  Result<void> Restore(BinaryReader& archive) override {
    // Of the finished round, as in TryCommit().
    if (Result<void> restored = community_.Restore(archive, true); !restored) return restored;
    archive("round", round_);
    archive("base", base_);
    archive("deadline_passed", deadline_passed_);
    archive("participants", participants_);
    archive("reported", reported_);
    return {};
  }

 private:
  enum class State { kTraining, kReceived, kReported, kRefused };

  void StartRound(Version base, const Membership& membership) {
    ++round_;
    base_ = base;
    deadline_passed_ = false;
    participants_.clear();
    for (LearnerId learner : membership.LiveLearners()) participants_[learner] = State::kTraining;
  }

  bool Ready(const Membership& membership) {
    if (round_ == 0 || reported_.size() < quorum_) {
      RetryRefused(membership);
      return false;
    }
    for (const auto& [learner, state] : participants_) {
      if (state == State::kReceived)
        return false;  // under evaluation: it has a deadline of its own
      bool waits = state == State::kTraining && !deadline_passed_;
      if (waits && (membership.Find(learner)->live() || Planted(PlantedBug::kRoundWaitsForLost))) {
        return false;
      }
    }
    return true;
  }

  // With nobody left to report and too few reports, those that were refused may try again.
  void RetryRefused(const Membership& membership) {
    for (const auto& [learner, state] : participants_) {
      if (state == State::kReceived) return;
      if (state == State::kTraining && membership.Find(learner)->live()) return;
    }
    for (auto& [learner, state] : participants_) {
      if (state == State::kRefused) state = State::kTraining;
    }
  }

  std::vector<Contribution> Contributions() const {
    std::vector<Contribution> contributions;
    for (const auto& [learner, update] : reported_) {
      contributions.push_back({learner, update.contribution, update.model});
    }
    return contributions;
  }

  SyncSettings settings_;
  size_t quorum_;
  Community community_;

  uint64_t round_ = 0;  // 0: not begun
  Version base_;        // the version that the round began with
  bool deadline_passed_ = false;
  std::map<LearnerId, State> participants_;
  std::map<LearnerId, WeighedUpdate> reported_;
};

}  // namespace

std::unique_ptr<Protocol> MakeSyncProtocol(const ProtocolParts& parts) {
  return std::make_unique<SyncProtocol>(parts);
}

}  // namespace metis::federation
