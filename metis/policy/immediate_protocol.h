// What protocols have in common that renew the community with every single update, in arrival
// order, and answer its learner at once: nobody waits for anybody, no update is late, there are no
// deadlines. Such a protocol is its description alone. Owned by one Controller.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/federation/oracle.h"
#include "metis/federation/protocol.h"

namespace metis::policy {

class ImmediateProtocol final : public federation::Protocol {
 public:
  std::vector<LearnerId> Begin(Version, const federation::Membership& membership) override {
    return membership.LiveLearners();
  }
  Welcome Arrived(LearnerId, bool same_life) override {
    // Back in the same life it still trains on what it has, and asks if it has nothing.
    return same_life ? Welcome::kNothing : Welcome::kSend;
  }
  bool Owes(LearnerId) const override { return true; }

  Result<void> Admit(const federation::UpdateId&, Version) const override { return {}; }
  void Received(LearnerId) override {}
  void Refused(LearnerId) override {}
  void Offer(federation::WeighedUpdate update) override { offered_.push_back(std::move(update)); }

  std::optional<std::vector<federation::WeighedUpdate>> TakeDue(
      const federation::Membership&) override {
    if (offered_.empty()) return std::nullopt;
    std::vector<federation::WeighedUpdate> next;
    next.push_back(std::move(offered_.front()));
    offered_.pop_front();
    return next;
  }
  Sending Committed(Version, const std::vector<federation::WeighedUpdate>& updates,
                    const federation::Membership&) override {
    return {.receivers = {updates.front().id.learner}};
  }
  void Failed(const std::vector<federation::WeighedUpdate>&) override {}

  // Offers are taken up before an event's handling ends, so there are none between events.
  std::vector<federation::UpdateId> Uncommitted() const override { return {}; }
  void Abandon() override { METIS_CHECK(offered_.empty()); }

  std::optional<std::pair<uint64_t, Duration>> Deadline() const override { return std::nullopt; }
  void DeadlinePassed(uint64_t) override {}

  void Save(BinaryWriter&) const override {}
  Result<void> Restore(BinaryReader&) override { return {}; }

 private:
  std::deque<federation::WeighedUpdate> offered_;
};

// One update a commit; none if the scale of the sums was raised alone.
class ImmediateOracle final : public federation::ProtocolOracle {
 public:
  std::optional<std::string> Committed(const federation::CommunityCommitted& commit,
                                       const std::vector<LearnerId>&, Instant) override {
    if (commit.updates.size() <= 1) return std::nullopt;
    return Text("version ", commit.version, " took up ", commit.updates.size(),
                " updates, not one at a time");
  }
};

}  // namespace metis::policy
