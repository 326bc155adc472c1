#include "metis/federation/community.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Gate kGate{.max_parameter = 8192, .max_learners = 4};
const LearnerId kAnna{3}, kBert{7}, kCleo{8}, kDora{11}, kEmil{20};

class CommunityTest : public testing::Test {
 protected:
  void ExpectExact() { EXPECT_EQ(Values(community_.Current()), Values(*community_.Recompute())); }
  // The operation fails with a message like that and leaves no trace.
  void ExpectNoTrace(const Result<void>& result, const std::string& before,
                     std::string_view message) {
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr(std::string(message)));
    store_.get_fails = false;
    store_.Heal();
    EXPECT_EQ(StateBytes(community_), before);
    ExpectExact();
    ExpectSumsUntouched();
  }
  // W is in no snapshot: it shows in the community model of the next exchange, here of a learner's
  // model for itself.
  void ExpectSumsUntouched() {
    const Result<ModelPtr> model = store_.Get(kAnna);
    if (!model) return;  // no models are kept, and so no sums
    const std::string before = StateBytes(community_);
    ASSERT_TRUE(community_.Replace(kAnna, *community_.contribution(kAnna), *model).ok());
    EXPECT_EQ(StateBytes(community_), before);
  }

  Models models_;
  FlakyStore store_;
  ModelPtr initial_ = models_.Of({9, 8, 7, 6, 5});
  Community community_{initial_, kGate, models_.pool(), store_};
};

TEST_F(CommunityTest, StartsWithTheInitialModelAndNobody) {
  EXPECT_EQ(community_.Current(), initial_);
  EXPECT_EQ(community_.total_contribution(), 0);
  EXPECT_EQ(community_.learners(), 0u);
  EXPECT_EQ(community_.contribution(kAnna), std::nullopt);
  EXPECT_EQ(*community_.Recompute(), initial_);
}

TEST_F(CommunityTest, TheFirstCommitMakesTheCommunityModelThatLearnersModel) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.375, models_.Of({1, -2, 0.5f, 100, -0.125f})).ok());
  EXPECT_THAT(Values(community_.Current()), ElementsAre(1, -2, 0.5f, 100, -0.125f));
  EXPECT_EQ(community_.contribution(kAnna), 0.375);
}

TEST_F(CommunityTest, IsTheContributionWeightedMean) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.25, models_.Of({4, 0, 8, -4, 1})).ok());
  ASSERT_TRUE(community_.Replace(kBert, 0.75, models_.Of({8, 4, 0, 4, 1})).ok());
  EXPECT_THAT(Values(community_.Current()), ElementsAre(7, 3, 2, 2, 1));
  EXPECT_EQ(community_.total_contribution(), 1);
  ExpectExact();
}

TEST_F(CommunityTest, ReplacingOneLearnerEqualsRecomputing) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  ASSERT_TRUE(community_.Replace(kBert, 0.7, models_.From(-5.3f)).ok());
  ASSERT_TRUE(community_.Replace(kAnna, 0.9, models_.From(1.7f)).ok());
  ExpectExact();
  Community other(initial_, kGate, models_.pool(), store_);
  ASSERT_TRUE(other.Replace(kBert, 0.7, models_.From(-5.3f)).ok());
  ASSERT_TRUE(other.Replace(kAnna, 0.9, models_.From(1.7f)).ok());
  EXPECT_EQ(StateBytes(community_), StateBytes(other));
}

TEST_F(CommunityTest, TakesNoNewMemoryOnceEverybodyHasContributed) {
  const auto update = [&](int i) {
    const LearnerId learner = i % 3 == 0 ? kAnna : i % 3 == 1 ? kBert : kCleo;
    return community_.Replace(learner, 0.1 + 0.01 * (i % 7), models_.From(static_cast<float>(i)));
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(update(i).ok());
  const size_t allocated = models_.pool().allocated();
  for (int i = 4; i < 100; ++i) ASSERT_TRUE(update(i).ok());
  EXPECT_EQ(models_.pool().allocated(), allocated);
}

TEST_F(CommunityTest, AWithdrawnLearnerLeavesNoTrace) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  std::string before = StateBytes(community_);
  ASSERT_TRUE(community_.Replace(kBert, 0.71, models_.From(-1234.5f)).ok());
  ASSERT_TRUE(community_.Withdraw(kBert).ok());
  EXPECT_EQ(StateBytes(community_), before);
  EXPECT_FALSE(store_.Get(kBert).ok());
  EXPECT_FALSE(community_.Withdraw(kBert).ok());
}

TEST_F(CommunityTest, WithoutContributionTheModelStaysWhatItWas) {
  ASSERT_TRUE(community_.Replace(kAnna, 0, models_.From(2)).ok());
  EXPECT_EQ(community_.Current(), initial_);
  ASSERT_TRUE(community_.Replace(kBert, 0.5, models_.From(3)).ok());
  ModelPtr last = community_.Current();
  ASSERT_TRUE(community_.Withdraw(kBert).ok());
  EXPECT_EQ(community_.Current(), last);
  EXPECT_EQ(community_.total_contribution(), 0);
  ASSERT_TRUE(community_.Replace(kAnna, 0.125, models_.From(2)).ok());
  EXPECT_EQ(Values(community_.Current()), Values(models_.From(2)));
}

TEST_F(CommunityTest, ReplacingAllOnARaisedScaleEqualsRaisingItFirst) {
  MemoryModelStore store;
  Community other(community_.Current(), Gate(), models_.pool(), store);
  for (Community* each : {&community_, &other}) {
    ASSERT_TRUE(
        each->ReplaceAll({{kAnna, 0.3, models_.From(1)}, {kBert, 1, models_.From(2)}}).ok());
  }
  const std::vector<Contribution> round{{kAnna, 17.3, models_.From(3)},
                                        {kCleo, 3.1, models_.From(-2)}};
  ASSERT_TRUE(other.RaiseScale(17.3).ok());
  ASSERT_TRUE(other.ReplaceAll(round).ok());
  EXPECT_FALSE(community_.ReplaceAll(round, 17.2 / 2).ok()) << "17.3 is outside 0 to 16";
  EXPECT_EQ(community_.scale(), 1) << "an error changes nothing";
  ASSERT_TRUE(community_.ReplaceAll(round, 17.3).ok());
  EXPECT_EQ(StateBytes(community_), StateBytes(other));
}

TEST_F(CommunityTest, ReplaceAllDropsWhoeverIsNotNamed) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  ASSERT_TRUE(community_.Replace(kBert, 0.4, models_.From(7)).ok());
  ASSERT_TRUE(community_
                  .ReplaceAll({{kCleo, 0.25, models_.Of({4, 0, 8, -4, 1})},
                               {kBert, 0.75, models_.Of({8, 4, 0, 4, 1})}})
                  .ok());
  EXPECT_THAT(Values(community_.Current()), ElementsAre(7, 3, 2, 2, 1));
  EXPECT_EQ(community_.contribution(kAnna), std::nullopt);
  EXPECT_FALSE(store_.Get(kAnna).ok());
  ExpectExact();
  ASSERT_TRUE(community_.Withdraw(kCleo).ok());
  EXPECT_THAT(Values(community_.Current()), ElementsAre(8, 4, 0, 4, 1));
  ASSERT_TRUE(community_.ReplaceAll({}).ok());
  EXPECT_THAT(Values(community_.Current()), ElementsAre(8, 4, 0, 4, 1));
}

TEST_F(CommunityTest, RaisingTheScaleKeepsExactNumbersOfExamples) {
  ASSERT_TRUE(community_.RaiseScale(1).ok());
  EXPECT_EQ(community_.scale(), 1);
  ASSERT_TRUE(community_.RaiseScale(300).ok());
  EXPECT_EQ(community_.scale(), 512);
  ASSERT_TRUE(community_.Replace(kAnna, 300, models_.From(1)).ok());
  ASSERT_TRUE(community_.Replace(kBert, 100, models_.From(5)).ok());
  ASSERT_TRUE(community_.RaiseScale(5000).ok());
  EXPECT_EQ(community_.scale(), 8192);
  EXPECT_EQ(community_.contribution(kAnna), 300);
  EXPECT_EQ(community_.total_contribution(), 400);
  EXPECT_EQ(Values(community_.Current()), Values(models_.From(2)));
  ExpectExact();
  ASSERT_TRUE(community_.RaiseScale(10).ok());
  EXPECT_EQ(community_.scale(), 8192);  // it never falls
}

TEST_F(CommunityTest, AnUpdateThatTheGateRefusesChangesNoBit) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  std::string before = StateBytes(community_);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto with = [&](float bad) { return models_.Of({1, 2, bad, 4, 5}); };
  ExpectNoTrace(community_.Replace(kAnna, 0.5, with(kNan)), before, "NaN");
  ExpectNoTrace(community_.Replace(kAnna, 0.5, with(-kInfinity)), before, "infinite");
  ExpectNoTrace(community_.Replace(kAnna, 0.5, with(1e30f)), before, "diverged");
  ExpectNoTrace(community_.Replace(kBert, 0.5, with(-8192)), before, "8192");
  EXPECT_TRUE(community_.Replace(kBert, 0.5, with(8191.5f)).ok());
}

TEST_F(CommunityTest, AContributionOutsideTheScaleChangesNoBit) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  std::string before = StateBytes(community_);
  for (double bad : {-0.1, 1.0000001, std::numeric_limits<double>::quiet_NaN()}) {
    ExpectNoTrace(community_.Replace(kAnna, bad, models_.From(2)), before, "contribution");
    ExpectNoTrace(
        community_.ReplaceAll({{kBert, 0.5, models_.From(1)}, {kAnna, bad, models_.From(2)}}),
        before, "contribution");
  }
}

TEST_F(CommunityTest, AnotherSchemaOrOneLearnerTooManyChangesNoBit) {
  for (LearnerId learner : {kAnna, kBert, kCleo, kDora}) {
    ASSERT_TRUE(community_.Replace(learner, 0.1, models_.From(0.3f)).ok());
  }
  std::string before = StateBytes(community_);
  Models others(6);
  ExpectNoTrace(community_.Replace(kAnna, 0.5, others.From(1)), before, "schema");
  ExpectNoTrace(community_.Replace(kEmil, 0.5, models_.From(1)), before, "max_learners");
  std::vector<Contribution> five;
  for (LearnerId learner : {kAnna, kBert, kCleo, kDora, kEmil}) {
    five.push_back({learner, 0.2, models_.From(4)});
  }
  ExpectNoTrace(community_.ReplaceAll(five), before, "max_learners");
}

TEST_F(CommunityTest, AStoreThatFailsChangesNoBit) {
  ASSERT_TRUE(community_.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  ASSERT_TRUE(community_.Replace(kBert, 0.6, models_.From(2.1f)).ok());
  std::string before = StateBytes(community_);
  store_.FailAfter(0);
  ExpectNoTrace(community_.Replace(kAnna, 0.5, models_.From(1)), before, "full");
  store_.get_fails = true;
  ExpectNoTrace(community_.Replace(kAnna, 0.5, models_.From(1)), before, "gone");
  store_.get_fails = true;
  ExpectNoTrace(community_.Withdraw(kAnna), before, "gone");
  store_.get_fails = true;
  ExpectNoTrace(community_.RaiseScale(100), before, "gone");
}

// What was already stored of the new set is taken back.
TEST_F(CommunityTest, AStoreThatFailsHalfwayThroughAReplaceAllChangesNoBit) {
  class Half final : public ModelStore {
   public:
    Result<void> Put(LearnerId learner, ModelPtr model) override {
      if (learner == fails) return Unavailable("the disk is full");
      return store.Put(learner, std::move(model));
    }
    Result<ModelPtr> Get(LearnerId learner) const override { return store.Get(learner); }
    void Erase(LearnerId learner) override { store.Erase(learner); }
    MemoryModelStore store;
    LearnerId fails{99};
  } half;
  Community community(initial_, kGate, models_.pool(), half);
  ASSERT_TRUE(community.Replace(kAnna, 0.3, models_.From(0.1f)).ok());
  ASSERT_TRUE(community.Replace(kCleo, 0.6, models_.From(2.1f)).ok());
  std::string before = StateBytes(community);
  half.fails = kCleo;
  EXPECT_FALSE(community
                   .ReplaceAll({{kAnna, 0.9, models_.From(5)},
                                {kBert, 0.8, models_.From(6)},
                                {kCleo, 0.7, models_.From(7)}})
                   .ok());
  EXPECT_EQ(StateBytes(community), before);
  EXPECT_EQ(Values(community.Current()), Values(*community.Recompute()));
  EXPECT_FALSE(half.Get(kBert).ok());
  ASSERT_TRUE(community.Replace(kAnna, 0.3, models_.From(0.1f)).ok());  // as it was: W is, too
  EXPECT_EQ(StateBytes(community), before);
}

TEST_F(CommunityTest, GoesOnWithTheSameBitsAfterSaveAndRestore) {
  ASSERT_TRUE(community_.RaiseScale(20).ok());
  ASSERT_TRUE(community_.Replace(kAnna, 17, models_.From(0.1f)).ok());
  ASSERT_TRUE(community_.Replace(kBert, 3, models_.From(-2.7f)).ok());
  BinaryWriter writer;
  community_.Save(writer);
  MemoryModelStore store;
  Community restored(models_.From(0), kGate, models_.pool(), store);
  BinaryReader reader(writer.archived());
  ASSERT_TRUE(restored.Restore(reader).ok());
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_EQ(StateBytes(restored), StateBytes(community_));
  for (Community* each : {&community_, &restored}) {
    ASSERT_TRUE(each->Replace(kAnna, 11, models_.From(0.9f)).ok());
    ASSERT_TRUE(each->Withdraw(kBert).ok());
  }
  EXPECT_EQ(StateBytes(restored), StateBytes(community_));
}

class ForgottenModelsTest : public CommunityTest {
 protected:
  ForgottenModelsTest() {
    EXPECT_TRUE(community_.RaiseScale(20).ok());
    EXPECT_TRUE(
        community_.ReplaceAll({{kAnna, 17, models_.From(1)}, {kBert, 3, models_.From(2)}}).ok());
    mix_ = community_.Current();
    community_.ForgetModels();
  }

  ModelPtr mix_;
};

TEST_F(ForgottenModelsTest, LeaveTheirMixAndItsWeights) {
  EXPECT_FALSE(store_.Get(kAnna).ok());
  EXPECT_EQ(community_.Current(), mix_);
  EXPECT_EQ(*community_.Recompute(), mix_);
  EXPECT_EQ(community_.contribution(kAnna), 17);
  EXPECT_EQ(community_.total_contribution(), 20);
  ASSERT_TRUE(community_.RaiseScale(70).ok());
  EXPECT_EQ(community_.Current(), mix_);
  EXPECT_EQ(community_.contribution(kAnna), 17);
}

TEST_F(ForgottenModelsTest, AreNeitherReplacedNorWithdrawn) {
  const std::string before = StateBytes(community_);
  ExpectNoTrace(community_.Withdraw(kAnna), before, "no longer kept");
  ExpectNoTrace(community_.Replace(kAnna, 1, models_.From(3)), before, "no longer kept");
}

TEST_F(ForgottenModelsTest, AreNotMissedInTheNextRound) {
  ASSERT_TRUE(
      community_.ReplaceAll({{kCleo, 1, models_.From(3)}, {kBert, 2, models_.From(4)}}).ok());
  ExpectExact();
  ASSERT_TRUE(community_.Withdraw(kCleo).ok());
  EXPECT_EQ(Values(community_.Current()), Values(models_.From(4)));
}

TEST_F(ForgottenModelsTest, StayForgottenAfterSaveAndRestore) {
  BinaryWriter writer;
  community_.Save(writer);
  EXPECT_EQ(writer.archived().models.size(), 1u) << "the mix alone";
  MemoryModelStore store;
  Community restored(models_.From(0), kGate, models_.pool(), store);
  BinaryReader reader(writer.archived());
  ASSERT_TRUE(restored.Restore(reader).ok());
  EXPECT_EQ(StateBytes(restored), StateBytes(community_));
  EXPECT_EQ(Values(*restored.Recompute()), Values(mix_));
  EXPECT_FALSE(restored.Withdraw(kAnna).ok());
}

TEST_F(CommunityTest, ASnapshotThatLacksOneModelOfTwoIsDamaged) {
  BinaryWriter writer;
  writer("scale_exponent", int64_t{0});
  writer("current", initial_);
  using Term = std::pair<int64_t, ModelPtr>;
  writer("terms", std::map<LearnerId, Term>{{kAnna, {1, models_.From(1)}}, {kBert, {1, nullptr}}});
  BinaryReader reader(writer.archived());
  const Result<void> restored = community_.Restore(reader);
  ASSERT_FALSE(restored.ok());
  EXPECT_THAT(restored.error().message, HasSubstr("is damaged"));
}

TEST(CommunityDeathTest, AGateThatCouldOverflowTheSumsIsRefusedAtOnce) {
  Models models;
  MemoryModelStore store;
  Gate gate{.max_parameter = 8192, .max_learners = 1024};
  EXPECT_DEATH(Community(models.From(0), gate, models.pool(), store), "0x1p23");
}

}  // namespace
}  // namespace metis::federation
