#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::Aggregator;
using federation::Contribution;
using federation::Settings;
using federation::Values;

// federation/community_test.cc and tests/laws have the sums themselves.
class SumsAggregatorTest : public testing::Test {
 protected:
  std::unique_ptr<Aggregator> Make(const Settings& settings) {
    return SumsAggregator().make({settings, models_.From(-1), models_.pool(), store_});
  }

  const Settings asynchronous_ = federation::SettingsFor("async-fedavg", 4);
  const Settings rounds_ = federation::SettingsFor("sync-fedavg", 4);
  federation::Models models_;
  federation::MemoryModelStore store_;
};

TEST_F(SumsAggregatorTest, IsTheWeightedMeanOfTheLatestModels) {
  const auto sums = Make(asynchronous_);
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(-1)));
  ASSERT_TRUE(sums->Replace(LearnerId(1), 3, models_.From(8), 10).ok());
  ASSERT_TRUE(sums->Replace(LearnerId(2), 1, models_.From(4), 10).ok());
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(7)));
  ASSERT_TRUE(sums->Replace(LearnerId(1), 1, models_.From(0), 10).ok());
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(2)));
  EXPECT_EQ(Values(*sums->Recompute()), Values(sums->Current()));
  EXPECT_EQ(sums->contribution(LearnerId(1)), 1);
  EXPECT_EQ(sums->total_contribution(), 2);
  EXPECT_EQ(sums->OwnWeight(5), std::nullopt);
}

TEST_F(SumsAggregatorTest, AWithdrawnLearnerLeavesNoTrace) {
  const auto sums = Make(asynchronous_);
  ASSERT_TRUE(sums->Replace(LearnerId(1), 3, models_.From(8), 10).ok());
  const std::vector<float> before = Values(sums->Current());
  ASSERT_TRUE(sums->Replace(LearnerId(2), 7, models_.From(-5), 10).ok());
  ASSERT_TRUE(sums->Withdrawable().ok());
  ASSERT_TRUE(sums->Withdraw(LearnerId(2)).ok());
  EXPECT_EQ(Values(sums->Current()), before);
  EXPECT_FALSE(sums->Withdraw(LearnerId(2)).ok());
}

TEST_F(SumsAggregatorTest, ARoundReplacesEverybody) {
  const auto sums = Make(rounds_);
  ASSERT_TRUE(sums->ReplaceAll({{LearnerId(1), 3, models_.From(8)}}, 10).ok());
  ASSERT_TRUE(
      sums->ReplaceAll({{LearnerId(2), 1, models_.From(6)}, {LearnerId(3), 3, models_.From(2)}}, 10)
          .ok());
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(3)));
  EXPECT_EQ(sums->contribution(LearnerId(1)), std::nullopt);
  ASSERT_TRUE(sums->Withdraw(LearnerId(3)).ok());
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(6)));
}

TEST_F(SumsAggregatorTest, WithoutKeptModelsARoundCannotBeTakenApart) {
  Settings settings = rounds_;
  settings.keep_models = false;
  const auto sums = Make(settings);
  ASSERT_TRUE(
      sums->ReplaceAll({{LearnerId(2), 1, models_.From(6)}, {LearnerId(3), 3, models_.From(2)}}, 10)
          .ok());
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(3)));
  EXPECT_FALSE(sums->Withdraw(LearnerId(3)).ok());
  EXPECT_EQ(Values(sums->Current()), Values(models_.From(3)));
}

TEST_F(SumsAggregatorTest, ItsStateIsSaved) {
  for (const Settings* settings : {&asynchronous_, &rounds_}) {
    const auto sums = Make(*settings);
    if (settings->policy.protocol->rounds) {
      ASSERT_TRUE(sums->ReplaceAll({{LearnerId(2), 1.5, models_.From(6)}}, 10).ok());
    } else {
      ASSERT_TRUE(sums->Replace(LearnerId(2), 1.5, models_.From(6), 10).ok());
    }
    BinaryWriter writer;
    sums->Save(writer);
    const Archived archived = std::move(writer).Take();
    const auto restored = Make(*settings);
    BinaryReader reader(archived);
    ASSERT_TRUE(restored->Restore(reader).ok());
    EXPECT_EQ(Values(restored->Current()), Values(sums->Current()));
    EXPECT_EQ(restored->contribution(LearnerId(2)), 1.5);
    BinaryWriter again;
    restored->Save(again);
    EXPECT_EQ(again.archived().bytes, archived.bytes);
  }
}

TEST_F(SumsAggregatorTest, ItsOracleAveragesInDoubles) {
  const auto sums = Make(asynchronous_);
  const auto oracle = SumsAggregator().expect(asynchronous_, *models_.From(-1));
  const auto expect_equal = [&] {
    for (size_t j = 0; j < oracle->aggregate().size(); ++j) {
      EXPECT_NEAR(oracle->aggregate()[j], sums->Current()->parameters()[j], 1e-6);
    }
  };
  for (uint32_t i = 0; i < 20; ++i) {
    const LearnerId learner(i * 7 % 4);
    const double weight = 1.0 + i % 5;
    const ModelPtr model = models_.From(static_cast<float>(i * 3 % 11) - 4);
    ASSERT_TRUE(sums->Replace(learner, weight, model, 10).ok());
    oracle->Replaced({learner, weight, model});
    expect_equal();
  }
  ASSERT_TRUE(sums->Withdraw(LearnerId(3)).ok());
  oracle->Withdrawn(LearnerId(3));
  expect_equal();
  EXPECT_EQ(oracle->total_contribution(), sums->total_contribution());
}

}  // namespace
}  // namespace metis::policy
