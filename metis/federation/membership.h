// Who takes part: every participant that ever joined, its latest life, and whether it is there now.
// Owned by one Controller; visited in id order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"

namespace metis::federation {

enum class Presence { kLive, kLost, kLeft };
constexpr auto EnumNames(Presence) {
  return std::array<std::string_view, 3>{"live", "lost", "left"};
}

// What was answered to a member's latest update, in case it asks again.
struct Verdict {
  Sequence sequence;  // of the latest update received; 0: none yet
  bool pending = false;
  std::optional<RejectUpdate> rejected;

  template <typename A>
  friend void Fields(A& archive, Verdict& verdict) {
    archive("sequence", verdict.sequence);
    archive("pending", verdict.pending);
    archive("rejected", verdict.rejected);
  }
};

struct Member {
  LearnerJoined declared;  // of its latest life
  Presence presence = Presence::kLive;
  Verdict verdict;

  bool live() const { return presence == Presence::kLive; }
  bool trains() const { return declared.role == Role::kLearner; }
  Incarnation incarnation() const { return declared.incarnation; }
  uint64_t validation_examples() const { return declared.validation_counts.examples(); }

  template <typename A>
  friend void Fields(A& archive, Member& member) {
    archive("declared", member.declared);
    archive("presence", member.presence);
    archive("verdict", member.verdict);
  }
};

class Membership {
 public:
  Membership(uint32_t max_learners, uint64_t schema_hash)
      : max_learners_(max_learners), schema_hash_(schema_hash) {}

  enum class Joined {
    kNew,       // never seen before
    kNewLife,   // a greater incarnation: whatever the old life was asked is void
    kReturned,  // the same life, which had been lost
    kRepeated,  // the same life again: a repeated message
  };
  // Refuses: an older life, another schema, a full federation, a validation set of another kind or
  // with other classes than everybody else's, a learner that becomes an observer or the reverse,
  // more than 2^30 training or 2^32 validation examples.
  Result<Joined> Join(const LearnerJoined& event);

  // The member, if it is known and `incarnation` is its present life.
  Member* Find(LearnerId learner, Incarnation incarnation);
  Member* Find(LearnerId learner);
  const Member* Find(LearnerId learner) const;

  const std::map<LearnerId, Member>& all() const { return members_; }
  std::vector<LearnerId> LiveLearners() const;
  std::optional<LearnerId> LiveObserver() const;  // the first
  size_t live_learners() const;
  size_t learners() const;  // that ever joined
  // Of the learners' validation sets; not known before the first.
  const StatisticsForm& form() const { return form_; }

  // The largest training set that anybody declared.
  uint64_t largest_training_set() const;

  template <typename A>
  friend void Fields(A& archive, Membership& membership) {
    archive("members", membership.members_);
    archive("classes", membership.form_);
  }

 private:
  Result<void> CheckDeclaration(const LearnerJoined& event) const;
  Result<void> CheckKind(const LearnerJoined& event) const;

  uint32_t max_learners_;
  uint64_t schema_hash_;
  std::map<LearnerId, Member> members_;
  StatisticsForm form_;
};

}  // namespace metis::federation
