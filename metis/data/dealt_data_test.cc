#include "metis/data/dealt_data.h"

#include <gtest/gtest.h>

#include <numeric>

#include "metis/data/source.h"
#include "metis/data/testing.h"

namespace metis::data {
namespace {

Dataset Points(const std::vector<uint32_t>& labels) {
  DatasetParts parts;
  parts.name = "points";
  parts.shape = {1, 1, 1};
  parts.labels = labels;
  parts.features.resize(labels.size());
  return Dataset::Make(std::move(parts)).value();
}

TEST(DealtData, EveryExampleIsTrainedOnValidatedOnOrLeftOver) {
  const Dataset set = Points(Labels({41, 29, 33}));
  DealSettings settings;
  settings.partition = Settings("skewed", "noniid:2");
  settings.learners = 4;
  settings.seed = 7;
  settings.validation = 0.25;
  Result<DealtData> dealt = DealData(set, settings);
  ASSERT_TRUE(dealt) << dealt.error().message;
  uint64_t training = 0, validation = 0;
  for (const DealtLearner& learner : dealt->learners) {
    training += learner.training;
    validation += learner.validation;
  }
  EXPECT_GT(validation, 0u);
  EXPECT_EQ(training + validation, dealt->dealt());
  const std::vector<uint64_t> left = dealt->left_over();
  EXPECT_EQ(std::accumulate(left.begin(), left.end(), dealt->dealt()), set.size());
}

TEST(DealtData, WrongLabelsAreCountedWhereTheyAre) {
  const Dataset set = Points(Labels({41, 29, 33}));
  DealSettings settings;
  settings.partition = Settings("uniform", "iid");
  settings.learners = 3;
  ASSERT_TRUE(ParseFaultyList("1:labels=random", settings.faulty));
  Result<DealtData> dealt = DealData(set, settings);
  ASSERT_TRUE(dealt) << dealt.error().message;
  EXPECT_EQ(dealt->learners[0].labels_changed, 0u);
  EXPECT_GT(dealt->learners[1].labels_changed, 0u);
  EXPECT_EQ(dealt->learners[1].faulty, "labels=random");
  settings.faulty.front().learner = 3;
  EXPECT_FALSE(DealData(set, settings)) << "there are three learners, from 0";
}

}  // namespace
}  // namespace metis::data
