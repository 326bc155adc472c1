#include "metis/federation/membership.h"

#include <algorithm>
#include <numeric>

#include "metis/core/fingerprint.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"

namespace metis::federation {

uint64_t Member::validation_examples() const {
  return std::accumulate(declared.validation_counts.begin(), declared.validation_counts.end(),
                         uint64_t{0});
}

Result<void> Membership::CheckDeclaration(const LearnerJoined& event) const {
  // Sets beyond these are forgeries. The scale of the community's sums follows the largest training
  // set: up to 2^30, the grid of contributions, the smallest set beside it still counts exactly.
  // Pooled counts of 2^16 evaluators stay within ConfusionCounts' kMaxExamples, or a snapshot that
  // holds them could not be read again.
  constexpr uint64_t kMaxTraining = uint64_t{1} << 30;
  constexpr uint64_t kMaxValidation = uint64_t{1} << 32;
  if (event.schema_hash != schema_hash_) {
    return Invalid(Text("learner ", event.learner, " has model schema ", Hex(event.schema_hash),
                        ", the federation's is ", Hex(schema_hash_),
                        ": was it configured for another model?"));
  }
  if (event.role == Role::kObserver) return {};
  if (event.training_examples > kMaxTraining) {
    return Invalid(Text("learner ", event.learner, " declares ", event.training_examples,
                        " training examples; at most 2^30 are believed"));
  }
  uint64_t validation = 0;
  for (uint64_t count : event.validation_counts) {
    if (count > kMaxValidation - validation) {
      return Invalid(Text("learner ", event.learner,
                          " declares more validation examples than the 2^32 that are believed"));
    }
    validation += count;
  }
  if (classes_ != 0 && !event.validation_counts.empty() &&
      event.validation_counts.size() != classes_) {
    return Invalid(Text("learner ", event.learner, " has a validation set of ",
                        event.validation_counts.size(), " classes, the others have ", classes_,
                        ": does it use another data set?"));
  }
  return {};
}

Result<Membership::Joined> Membership::Join(const LearnerJoined& event) {
  if (Result<void> checked = CheckDeclaration(event); !checked) return checked.error();
  auto known = members_.find(event.learner);
  if (known == members_.end()) {
    if (members_.size() >= max_learners_) {
      return Invalid(Text("learner ", event.learner,
                          " would be one more than max_learners = ", max_learners_));
    }
    members_[event.learner].declared = event;
  } else {
    Member& member = known->second;
    if (event.incarnation < member.incarnation()) {
      return Invalid(Text("learner ", event.learner, " speaks as incarnation ", event.incarnation,
                          ", but incarnation ", member.incarnation(),
                          " has joined: is it running twice?"));
    }
    if (event.role != member.declared.role) {
      return Invalid(Text("participant ", event.learner, " joined as ",
                          member.trains() ? "a learner" : "an observer",
                          " before and cannot change its role: give the other one its own id"));
    }
    if (event.incarnation == member.incarnation()) {
      bool was_live = member.live();
      member.presence = Presence::kLive;
      return was_live ? Joined::kRepeated : Joined::kReturned;
    }
    member = Member{.declared = event, .presence = Presence::kLive, .verdict = {}};
  }
  if (classes_ == 0 && event.role == Role::kLearner) {
    classes_ = static_cast<uint32_t>(event.validation_counts.size());
  }
  return known == members_.end() ? Joined::kNew : Joined::kNewLife;
}

Member* Membership::Find(LearnerId learner) {
  auto found = members_.find(learner);
  return found == members_.end() ? nullptr : &found->second;
}

const Member* Membership::Find(LearnerId learner) const {
  auto found = members_.find(learner);
  return found == members_.end() ? nullptr : &found->second;
}

Member* Membership::Find(LearnerId learner, Incarnation incarnation) {
  Member* member = Find(learner);
  if (member == nullptr) return nullptr;
  return member->incarnation() == incarnation ? member : nullptr;
}

std::vector<LearnerId> Membership::LiveLearners() const {
  std::vector<LearnerId> live;
  for (const auto& [id, member] : members_) {
    if (member.trains() && member.live()) live.push_back(id);
  }
  return live;
}

std::optional<LearnerId> Membership::LiveObserver() const {
  for (const auto& [id, member] : members_) {
    if (!member.trains() && member.live()) return id;
  }
  return std::nullopt;
}

size_t Membership::live_learners() const { return LiveLearners().size(); }

size_t Membership::learners() const {
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(),
                                           [](const auto& each) { return each.second.trains(); }));
}

uint64_t Membership::largest_training_set() const {
  uint64_t largest = 0;
  for (const auto& [id, member] : members_) {
    if (member.trains()) largest = std::max(largest, member.declared.training_examples);
  }
  return largest;
}

}  // namespace metis::federation
