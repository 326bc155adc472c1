#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::Aggregator;
using federation::Settings;
using federation::Values;
using testing::HasSubstr;

class MixAggregatorTest : public testing::Test {
 protected:
  MixAggregatorTest() {
    Set(settings_, "fedasync.alpha", 0.6);
    Set(settings_, "fedasync.staleness_exponent", 0.75);
  }
  std::unique_ptr<Aggregator> Make() {
    return MixAggregator().make({settings_, models_.From(0), models_.pool(), store_});
  }

  Settings settings_ = federation::SettingsFor("fedasync", 4);
  federation::Models models_;
  federation::MemoryModelStore store_;
};

TEST_F(MixAggregatorTest, EveryModelIsMixedIntoTheOneBefore) {
  const auto mix = Make();
  ASSERT_TRUE(mix->Replace(LearnerId(2), 0.25, models_.From(4), 1).ok());
  EXPECT_EQ(Values(mix->Current()), Values(models_.From(1)));
  ASSERT_TRUE(mix->Replace(LearnerId(2), 0.5, models_.From(-2), 1).ok());
  EXPECT_EQ(Values(mix->Current()), Values(models_.From(-0.5f)));
  EXPECT_EQ(mix->contribution(LearnerId(2)), 0.5);
  EXPECT_EQ(mix->contribution(LearnerId(1)), std::nullopt);
}

TEST_F(MixAggregatorTest, AnUpdateWeighsTheLessTheOlderItsBaseIs) {
  const auto mix = Make();
  const auto oracle = MixAggregator().expect(settings_, *models_.From(0));
  EXPECT_EQ(mix->OwnWeight(0), 0.6);
  for (uint64_t staleness : {1u, 2u, 9u, 1000u}) {
    const double expected = 0.6 / std::pow(1.0 + static_cast<double>(staleness), 0.75);
    EXPECT_NEAR(mix->OwnWeight(staleness).value(), expected, 1e-12) << staleness;
    EXPECT_NEAR(oracle->OwnWeight(staleness).value(), expected, 1e-12) << staleness;
  }
}

TEST_F(MixAggregatorTest, NothingCanBeTakenOutOfIt) {
  const auto mix = Make();
  ASSERT_TRUE(mix->Replace(LearnerId(2), 0.25, models_.From(4), 1).ok());
  EXPECT_THAT(mix->Withdrawable().error().message, HasSubstr("async-fedavg"));
  EXPECT_FALSE(mix->Withdraw(LearnerId(2)).ok());
  EXPECT_EQ(Values(mix->Current()), Values(models_.From(1)));
}

TEST_F(MixAggregatorTest, ItsStateIsSaved) {
  const auto mix = Make();
  ASSERT_TRUE(mix->Replace(LearnerId(2), 0.25, models_.From(4), 1).ok());
  BinaryWriter writer;
  mix->Save(writer);
  const Archived archived = std::move(writer).Take();
  const auto restored = Make();
  BinaryReader reader(archived);
  ASSERT_TRUE(restored->Restore(reader).ok());
  EXPECT_EQ(Values(restored->Current()), Values(mix->Current()));
  EXPECT_EQ(restored->contribution(LearnerId(2)), 0.25);
}

TEST_F(MixAggregatorTest, ItsOracleMixesInDoubles) {
  const auto mix = Make();
  const auto oracle = MixAggregator().expect(settings_, *models_.From(0));
  for (int i = 1; i <= 20; ++i) {
    const double weight = 0.9 / i;
    const ModelPtr model = models_.From(static_cast<float>(3 * i % 7) - 2);
    ASSERT_TRUE(mix->Replace(LearnerId(1), weight, model, 1).ok());
    oracle->Replaced({LearnerId(1), weight, model});
    for (size_t j = 0; j < model->size(); ++j) {
      EXPECT_NEAR(oracle->aggregate()[j], mix->Current()->parameters()[j], 1e-5) << i;
    }
  }
}

}  // namespace
}  // namespace metis::policy
