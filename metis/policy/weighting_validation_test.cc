#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::CountsOf;
using federation::Settings;

std::optional<double> Weigh(const Settings& settings, ConfusionCounts counts, double coverage) {
  const MadeUpCandidate made_up({std::move(counts), coverage});
  return ValidationWeighting().make(settings)->Weigh(made_up.Of(137));
}

TEST(ValidationWeighting, WeighsByTheMetricOfThePooledCounts) {
  EXPECT_NE(ValidationWeighting().evaluation, nullptr);
  const auto weighting = ValidationWeighting().make({});
  EXPECT_EQ(weighting->LargestContribution(federation::Membership(10, 0)), 1);
  EXPECT_EQ(Weigh({}, CountsOf({4, 12}, 6), 1), 6.0 / 16);
}

TEST(ValidationWeighting, TheMetricIsASetting) {
  const ConfusionCounts counts = CountsOf({4, 12}, 6);
  const std::vector<std::pair<const char*, Metric>> metrics = {
      {"micro-f1", Metric::kMicroF1},
      {"accuracy", Metric::kAccuracy},
      {"macro-f1", Metric::kMacroF1},
      {"geometric-mean", Metric::kGeometricMean},
      {"matthews", Metric::kMatthews}};
  for (const auto& [word, metric] : metrics) {
    Settings settings;
    Set(settings, "validation.metric", word);
    EXPECT_EQ(Weigh(settings, counts, 1), Evaluate(metric, counts)) << word;
  }
}

TEST(ValidationWeighting, TooLittleCoverageSaysNothing) {
  const ConfusionCounts counts = CountsOf({4, 12}, 6);
  EXPECT_TRUE(Weigh({}, counts, 20.0 / 30).has_value());  // exactly 2/3
  EXPECT_FALSE(Weigh({}, counts, 19.0 / 30).has_value());
  EXPECT_FALSE(Weigh({}, ConfusionCounts(), 1).has_value());
}

TEST(ValidationWeighting, ItsOracleAgreesOnDrawnCountsAndMetrics) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random({.seed = seed});
    Settings settings;
    ValidationWeighting().draw(random, settings);
    ConfusionCounts counts(3);
    federation::WeighingFacts facts;
    facts.pooled.assign(3, std::vector<double>(3));
    facts.coverage = random.Uniform();
    for (uint32_t i = 0; i < 3; ++i) {
      for (uint32_t j = 0; j < 3; ++j) {
        const uint64_t cell = random.Below(9);
        counts.Count(i, j, cell);
        facts.pooled[i][j] = static_cast<double>(cell);
      }
    }
    const std::optional<double> weight = Weigh(settings, counts, facts.coverage);
    const std::optional<double> expected = ValidationWeighting().expect(settings, facts);
    ASSERT_EQ(weight.has_value(), expected.has_value()) << seed;
    EXPECT_NEAR(weight.value_or(0), expected.value_or(0), 1e-9) << seed;
  }
}

}  // namespace
}  // namespace metis::policy
