// The law of exact sums: after any number of replaces and withdrawals, in any order, on any
// instruction set and across a restart, the community model equals its definition bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "metis/core/random.h"
#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

constexpr uint64_t kSeed = 1990;

// The definition, written again: one element at a time, in 128-bit integers that cannot overflow.
class Reference {
 public:
  void Replace(LearnerId learner, double contribution, ModelPtr model) {
    terms_[learner] = {std::nearbyint(contribution * 0x1p30), std::move(model)};
  }
  void Withdraw(LearnerId learner) { terms_.erase(learner); }

  // Empty where P is 0.
  std::vector<float> Current(size_t size) const {
    double total = 0;
    for (const auto& [learner, term] : terms_) total += term.first;
    if (total == 0) return {};
    std::vector<float> current(size);
    for (size_t i = 0; i < size; ++i) {
      __int128 sum = 0;
      for (const auto& [learner, term] : terms_) {
        sum += Rounded(term.first * 0x1p10 * static_cast<double>(term.second->parameters()[i]));
      }
      current[i] = static_cast<float>(static_cast<double>(sum) * (1 / (total * 0x1p10)));
    }
    return current;
  }

 private:
  // To the nearest integer, ties to even.
  static __int128 Rounded(double value) {
    double below = std::floor(value);
    double rest = value - below;
    auto integer = static_cast<__int128>(below);
    bool up = rest > 0.5 || (rest == 0.5 && integer % 2 != 0);
    return integer + (up ? 1 : 0);
  }

  std::map<LearnerId, std::pair<double, ModelPtr>> terms_;
};

// Equal floats may differ: +0 and -0.
std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// The same changes to one community for each instruction set, to one whose learners have other ids,
// and to the reference.
class Lockstep {
 public:
  Lockstep(size_t parameters, Gate gate, uint32_t learners)
      : models_(parameters), gate_(gate), learners_(learners), initial_(models_.From(0)) {
    for (InstructionSet set : SupportedInstructionSets()) {
      Add(KernelsFor(set), false);
      std::printf("kernels: %s\n", KernelsFor(set).name);  // what this machine could try
    }
    Add(BestKernels(), true);
    for (uint32_t k = 0; k < learners; ++k) other_ids_.push_back(k);
    Random({.seed = kSeed, .cycle = 1}).Shuffle(std::span(other_ids_));
  }

  // Every learner contributes.
  void ContributeAll(Random& random) {
    for (uint32_t k = 0; k < learners_; ++k) {
      ASSERT_NO_FATAL_FAILURE(Change(k, random.Uniform(), RandomModel(random)));
    }
    ASSERT_EQ(sides_[0].community->learners(), learners_);
  }

  void Step(Random& random) {
    auto k = static_cast<uint32_t>(random.Below(learners_));
    bool present = sides_[0].community->contribution(LearnerId(k)).has_value();
    bool withdraw = present && random.Chance(0.1);
    double contribution =
        random.Chance(0.05) ? static_cast<double>(random.Below(2)) : random.Uniform();
    Change(k, contribution, withdraw ? nullptr : RandomModel(random));
  }

  void ExpectAllEqual(int step) {
    const std::vector<uint32_t> current = Bits(Values(sides_[0].community->Current()));
    const std::vector<uint32_t> expected = Bits(reference_.Current(current.size()));
    if (!expected.empty()) {
      ASSERT_EQ(current, expected) << "seed " << kSeed << ", step " << step;
    }
    for (Side& side : sides_) {
      ASSERT_EQ(Bits(Values(side.community->Current())), current)
          << side.kernels->name << ", seed " << kSeed << ", step " << step;
      ASSERT_EQ(Bits(Values(*side.community->Recompute())), current)
          << side.kernels->name << ", seed " << kSeed << ", step " << step;
      ASSERT_EQ(side.community->total_contribution(), sides_[0].community->total_contribution());
    }
  }

  // Every community is saved, and a fresh one goes on from there.
  void Restart() {
    for (Side& side : sides_) {
      BinaryWriter writer;
      side.community->Save(writer);
      Side fresh = Fresh(side.community_kernels(), side.renamed);
      BinaryReader reader(writer.archived());
      ASSERT_TRUE(fresh.community->Restore(reader).ok());
      ASSERT_TRUE(reader.Finish().ok());
      ASSERT_EQ(StateBytes(*fresh.community), StateBytes(*side.community));
      side = std::move(fresh);
    }
  }

  // A bad value at a random place is refused everywhere and leaves the state as it was, bit for
  // bit.
  void ExpectRefused(float bad, Random& random) {
    std::vector<float> values = Values(RandomModel(random));
    values[random.Below(values.size())] = bad;
    ModelPtr model = models_.Of(values);
    LearnerId learner(static_cast<uint32_t>(random.Below(learners_)));
    for (Side& side : sides_) {
      std::string before = StateBytes(*side.community);
      ASSERT_FALSE(side.community->Replace(learner, 0.5, model).ok()) << bad;
      ASSERT_FALSE(side.community->ReplaceAll({{learner, 0.5, model}}).ok()) << bad;
      ASSERT_EQ(StateBytes(*side.community), before) << bad;
    }
  }

 private:
  // Everywhere: learner k contributes the model, or is withdrawn without one.
  void Change(uint32_t k, double contribution, const ModelPtr& model) {
    for (Side& side : sides_) {
      LearnerId learner(side.renamed ? other_ids_[k] : k);
      ASSERT_TRUE(model ? side.community->Replace(learner, contribution, model).ok()
                        : side.community->Withdraw(learner).ok());
    }
    if (model) {
      reference_.Replace(LearnerId(k), contribution, model);
    } else {
      reference_.Withdraw(LearnerId(k));
    }
  }

  struct Side {
    const Kernels* kernels;
    bool renamed;
    std::unique_ptr<MemoryModelStore> store;
    std::unique_ptr<Community> community;
    const Kernels& community_kernels() const { return *kernels; }
  };

  Side Fresh(const Kernels& kernels, bool renamed) {
    auto store = std::make_unique<MemoryModelStore>();
    auto community = std::make_unique<Community>(initial_, gate_, models_.pool(), *store, kernels);
    return {&kernels, renamed, std::move(store), std::move(community)};
  }
  void Add(const Kernels& kernels, bool renamed) { sides_.push_back(Fresh(kernels, renamed)); }

  // Magnitudes from far below the grid up to the gate.
  ModelPtr RandomModel(Random& random) {
    double range = gate_.max_parameter * std::ldexp(0.999, -static_cast<int>(random.Below(40)));
    ModelDraft draft = models_.pool().Draft();
    for (float& value : draft.parameters())
      value = static_cast<float>(random.Uniform(-range, range));
    return std::move(draft).Seal();
  }

  Models models_;
  Gate gate_;
  uint32_t learners_;
  ModelPtr initial_;
  std::vector<uint32_t> other_ids_;
  std::vector<Side> sides_;
  Reference reference_;
};

TEST(Exactness, AHundredThousandChangesLeaveTheDefinitionBitForBit) {
  Lockstep lockstep(303, {.max_parameter = 8192, .max_learners = 50}, 50);
  Random random({.seed = kSeed});
  for (int step = 1; step <= 100'000; ++step) {
    ASSERT_NO_FATAL_FAILURE(lockstep.Step(random));
    if (step % 5'000 == 0 || step <= 60) {
      ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(step));
    }
  }
  ASSERT_NO_FATAL_FAILURE(lockstep.Restart());
  for (int step = 100'001; step <= 101'000; ++step) {
    ASSERT_NO_FATAL_FAILURE(lockstep.Step(random));
    if (step % 100 == 1) {
      ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(step));
    }
  }
  ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(101'000));
}

TEST(Exactness, TenThousandLearnersLeaveTheDefinitionBitForBit) {
  Lockstep lockstep(37, {.max_parameter = 500, .max_learners = 10'000}, 10'000);
  Random random({.seed = kSeed, .cycle = 2});
  ASSERT_NO_FATAL_FAILURE(lockstep.ContributeAll(random));
  ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(0));
  for (int step = 1; step <= 30'000; ++step) {
    ASSERT_NO_FATAL_FAILURE(lockstep.Step(random));
    if (step % 10'000 == 0) {
      ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(step));
    }
  }
  ASSERT_NO_FATAL_FAILURE(lockstep.Restart());
  for (int step = 30'001; step <= 31'000; ++step) ASSERT_NO_FATAL_FAILURE(lockstep.Step(random));
  ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(31'000));
}

TEST(Exactness, TheLargestSumsDoNotOverflow) {
  constexpr uint32_t kLearners = 1023;
  Models models(11);
  MemoryModelStore store;
  Community community(models.From(0), {.max_parameter = 8192, .max_learners = kLearners},
                      models.pool(), store);
  float largest = std::nextafter(8192.0f, 0.0f);
  for (uint32_t k = 0; k < kLearners; ++k) {
    ASSERT_TRUE(community.Replace(LearnerId(k), 1, models.Filled(largest)).ok());
  }
  EXPECT_EQ(Values(community.Current()), std::vector<float>(11, largest));
  for (uint32_t k = 0; k < kLearners; ++k) {
    ASSERT_TRUE(community.Replace(LearnerId(k), 1, models.Filled(-largest)).ok());
  }
  EXPECT_EQ(Values(community.Current()), std::vector<float>(11, -largest));
}

TEST(Exactness, ValuesThatWouldStayForEverAreRefusedAndChangeNoBit) {
  Lockstep lockstep(65, {.max_parameter = 8192, .max_learners = 20}, 20);
  Random random({.seed = kSeed, .cycle = 3});
  for (int step = 1; step <= 300; ++step) {
    ASSERT_NO_FATAL_FAILURE(lockstep.Step(random));
    for (float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity(), 1e30f, -1e30f, 8192.0f}) {
      ASSERT_NO_FATAL_FAILURE(lockstep.ExpectRefused(bad, random));
    }
  }
  ASSERT_NO_FATAL_FAILURE(lockstep.ExpectAllEqual(300));
}

}  // namespace
}  // namespace metis::federation
