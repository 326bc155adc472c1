// Strong ids: a learner can't be passed where a version is meant.
// Cheap values; ordered and hashable so that containers visit learners in id order.
#pragma once

#include <compare>
#include <cstdint>

namespace metis {

// An integer of its own type. Arithmetic is deliberately absent, except Next().
template <typename Tag, typename Rep>
class StrongId {
 public:
  using rep = Rep;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr StrongId Next() const { return StrongId(static_cast<Rep>(value_ + 1)); }

  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  Rep value_ = 0;
};

// A participant: learner or observer. Numbered from 0 by the driver, stable for the whole run.
using LearnerId = StrongId<struct LearnerTag, uint32_t>;

// One life of a learner process. A restart makes a greater one; messages of an older life are
// refused.
using Incarnation = StrongId<struct IncarnationTag, uint32_t>;

// Numbers the updates of one incarnation, from 1. (learner, incarnation, sequence) names an update.
using Sequence = StrongId<struct SequenceTag, uint64_t>;

// Numbers community models: 0 is the initial one, each commit makes the next; dense, never reused.
using Version = StrongId<struct VersionTag, uint64_t>;

}  // namespace metis
