// What protocols have in common that renew the community with every single update, in arrival
// order, and answer its learner at once: nobody waits for anybody, no update is late, there are no
// deadlines. A protocol derives from it and says in TryCommit() how TakeOffered() is taken up.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "metis/core/check.h"
#include "metis/federation/protocol.h"

namespace metis::federation {

class ImmediateProtocol : public Protocol {
 public:
  std::vector<LearnerId> Begin(Version, const Membership& membership) final {
    return membership.LiveLearners();
  }
  Welcome Arrived(LearnerId, bool same_life) final {
    // Back in the same life it still trains on what it has, and asks if it has nothing.
    return same_life ? Welcome::kNothing : Welcome::kSend;
  }
  bool Owes(LearnerId) const final { return true; }

  Result<void> Admit(const UpdateId&, Version) const final { return {}; }
  void Received(LearnerId) final {}
  void Refused(LearnerId) final {}
  void Offer(WeighedUpdate update) final { offered_.push_back(std::move(update)); }

  // Offers are taken up before an event's handling ends, so there are none between events.
  std::vector<UpdateId> Uncommitted() const final { return {}; }
  void Abandon() final { METIS_CHECK(offered_.empty()); }

  std::optional<std::pair<uint64_t, Duration>> Deadline() const final { return std::nullopt; }
  void DeadlinePassed(uint64_t) final {}

 protected:
  // The next update in arrival order, if there is one.
  std::optional<WeighedUpdate> TakeOffered() {
    if (offered_.empty()) return std::nullopt;
    WeighedUpdate update = std::move(offered_.front());
    offered_.pop_front();
    return update;
  }
  static Commit CommitOf(WeighedUpdate update) {
    Commit commit;
    commit.receivers.push_back(update.id.learner);
    commit.updates.push_back(std::move(update));
    return commit;
  }

 private:
  std::deque<WeighedUpdate> offered_;
};

}  // namespace metis::federation
