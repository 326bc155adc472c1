// What tests of the wire are written with: models of unequal values, events and actions of every
// kind, and random bytes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/model.h"
#include "metis/core/random.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/wire/settings.h"

namespace metis::wire {

inline constexpr Encoding kEncodings[] = {Encoding::kRaw, Encoding::kZstd, Encoding::kHalf};

inline std::string_view NameOf(Encoding encoding) {
  constexpr std::string_view kNames[] = {"raw", "zstd", "half"};
  return kNames[static_cast<size_t>(encoding)];
}

inline ModelPool PoolOf(uint64_t parameters) {
  return ModelPool(ModelSchema::Create({{"all", {parameters}}}).value());
}

// Values as a trained model has them: small, of both signs, no two alike.
inline ModelPtr RandomModel(ModelPool& pool, uint64_t seed) {
  Random random({.seed = seed});
  ModelDraft draft = pool.Draft();
  for (float& value : draft.parameters()) value = static_cast<float>(random.Uniform(-0.1, 0.1));
  return std::move(draft).Seal();
}

inline std::vector<std::byte> RandomBytes(Random& random, size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

inline ConfusionCounts SampleCounts() {
  return ConfusionCounts::FromCounts(3, {5, 1, 0, 2, 70'000, 3, 0, 4, uint64_t{1} << 40}).value();
}

// Sums that need more than 64 bits, one of them below zero.
inline RegressionSums SampleSums() {
  return RegressionSums::FromSums(40'000, FromWords(5, 77), -(Int128{1} << 40), FromWords(9, 1))
      .value();
}

inline constexpr LearnerId kAnna{3};
inline constexpr Incarnation kLife{2};
inline constexpr federation::UpdateId kOther{LearnerId(7), Incarnation(5), Sequence(11)};

// One of every kind that travels over Converse, and some again with nothing in them.
inline std::vector<federation::Event> SampleEvents() {
  using namespace federation;
  return {
      LearnerJoined{kAnna, kLife, Role::kLearner, "anna", "slow", 1234, {10, 0, 30}, 0xfedcba98},
      LearnerJoined{kAnna, kLife, Role::kObserver, "a.b-c_1", "", 0, {}, 1},
      LearnerLeft{kAnna, kLife},
      EpochReported{kAnna, kLife, 4, 9},
      CommunityRequested{kAnna, kLife, Sequence(6)},
      CountsReceived{kAnna, kLife, kOther, SampleCounts()},
      CountsReceived{kAnna, kLife, kOther, ConfusionCounts()},
      EvaluationFailed{kAnna, kLife, kOther},
      CommunityTested{kAnna, kLife, Version(8), SampleCounts(), 0.625},
      CommunityTested{kAnna, kLife, Version(9), ConfusionCounts(), std::nan("")},
      LearnerJoined{kAnna, kLife, Role::kLearner, "anna", "", 5, RegressionSums::Declaration{7}, 1},
      LearnerJoined{kAnna, kLife, Role::kLearner, "anna", "", 5, RegressionSums::Declaration{}, 1},
      CountsReceived{kAnna, kLife, kOther, SampleSums()},
      CountsReceived{kAnna, kLife, kOther, RegressionSums()},
      CommunityTested{kAnna, kLife, Version(8), SampleSums(), 0.625},
  };
}

inline federation::UpdateReceived SampleUpdate() {
  return {.id = {kAnna, kLife, Sequence(6)},
          .base = Version(17),
          .steps = 310,
          .model = nullptr,
          .own_counts = SampleCounts(),
          .cycle = {.cycle = 4,
                    .epochs = 2,
                    .losses = {1.5, std::nan(""), HUGE_VAL},
                    .failures = 1,
                    .reason = federation::CycleReason::kC2,
                    .staleness = 88}};
}

}  // namespace metis::wire
