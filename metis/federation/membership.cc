#include "metis/federation/membership.h"

#include <algorithm>

#include "metis/core/fingerprint.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"

namespace metis::federation {

// Of learners and observers alike: what they say of a model could not be compared.
Result<void> Membership::CheckKind(const LearnerJoined& event) const {
  const Declared& declared = event.validation_counts;
  for (const auto& [other, member] : members_) {
    const Declared& theirs = member.declared.validation_counts;
    if (other == event.learner || declared.none() || theirs.none()) continue;
    if (theirs.kind() == declared.kind()) continue;
    return Invalid(
        Text("participant ", event.learner, " declares a validation set of ", declared.kind(),
             ", participant ", other, " one of ", theirs.kind(),
             ": a federation has one task; check the data and the controller's address that "
             "participant ",
             event.learner, " was started with"));
  }
  return {};
}

Result<void> Membership::CheckDeclaration(const LearnerJoined& event) const {
  // Sets beyond these are forgeries. The scale of the community's sums follows the largest training
  // set: up to 2^30, the grid of contributions, the smallest set beside it still counts exactly.
  // Statistics of 2^16 evaluators can be pooled.
  constexpr uint64_t kMaxTraining = uint64_t{1} << 30;
  constexpr uint64_t kMaxValidation = uint64_t{1} << 32;
  if (event.schema_hash != schema_hash_) {
    return Invalid(Text("learner ", event.learner, " has model schema ", Hex(event.schema_hash),
                        ", the federation's is ", Hex(schema_hash_),
                        ": was it configured for another model?"));
  }
  if (Result<void> same = CheckKind(event); !same) return same;
  if (event.role == Role::kObserver) return {};
  if (event.training_examples > kMaxTraining) {
    return Invalid(Text("learner ", event.learner, " declares ", event.training_examples,
                        " training examples; at most 2^30 are believed"));
  }
  if (event.validation_counts.examples() > kMaxValidation) {
    return Invalid(Text("learner ", event.learner,
                        " declares more validation examples than the 2^32 that are believed"));
  }
  if (Result<void> agrees = event.validation_counts.CheckForm(form_); !agrees) {
    return Invalid(Text("learner ", event.learner, " ", agrees.error().message));
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
  if (!form_.known() && event.role == Role::kLearner) form_ = event.validation_counts.form();
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
