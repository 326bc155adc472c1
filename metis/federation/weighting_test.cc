#include "metis/federation/weighting.h"

#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

TEST(Weighting, FedAvgWeighsByTrainingExamples) {
  auto weighting = MakeWeighting(WeightingKind::kTrainingExamples, {});
  EXPECT_FALSE(weighting->NeedsEvaluation());
  EXPECT_EQ(weighting->Weigh(137, {}), 137);
  Membership membership(10, 0);
  for (uint32_t k : {2u, 5u, 1u}) {
    LearnerJoined event;
    event.learner = LearnerId(k);
    event.training_examples = TrainingExamples(k);
    ASSERT_TRUE(membership.Join(event).ok());
  }
  EXPECT_EQ(weighting->LargestContribution(membership), static_cast<double>(TrainingExamples(5)));
}

TEST(Weighting, DvwWeighsByTheMetricOfThePooledCounts) {
  auto weighting = MakeWeighting(WeightingKind::kValidation, {});
  EXPECT_TRUE(weighting->NeedsEvaluation());
  EXPECT_EQ(weighting->LargestContribution(Membership(10, 0)), 1);
  Evaluation evaluation{CountsOf({4, 12}, 6), 1};
  EXPECT_EQ(weighting->Weigh(137, evaluation), 6.0 / 16);
}

TEST(Weighting, TheMetricIsASetting) {
  Evaluation evaluation{CountsOf({4, 12}, 6), 1};
  for (Metric metric : {Metric::kMicroF1, Metric::kAccuracy, Metric::kMacroF1,
                        Metric::kGeometricMean, Metric::kMatthews}) {
    ValidationSettings settings;
    settings.metric = metric;
    auto weighting = MakeWeighting(WeightingKind::kValidation, settings);
    EXPECT_EQ(weighting->Weigh(1, evaluation), *evaluation.pooled.Score(metric));
  }
}

TEST(Weighting, TooLittleCoverageSaysNothing) {
  auto weighting = MakeWeighting(WeightingKind::kValidation, {});
  ConfusionCounts counts = CountsOf({4, 12}, 6);
  EXPECT_TRUE(weighting->Weigh(1, {counts, 20.0 / 30}).has_value());  // exactly 2/3
  EXPECT_FALSE(weighting->Weigh(1, {counts, 19.0 / 30}).has_value());
  EXPECT_FALSE(weighting->Weigh(1, {ConfusionCounts(), 1}).has_value());
}

TEST(Weighting, AMetricThatTheStatisticsLackSaysNothing) {
  ValidationSettings settings;
  settings.metric = Metric::kR2;
  auto weighting = MakeWeighting(WeightingKind::kValidation, settings);
  EXPECT_FALSE(weighting->Weigh(1, {CountsOf({4, 12}, 6), 1}).has_value());
  RegressionSums sums;
  ASSERT_TRUE(sums.Count(1, 1) && sums.Count(3, 2));
  EXPECT_EQ(weighting->Weigh(1, {sums, 1}), 0.5);
}

}  // namespace
}  // namespace metis::federation
