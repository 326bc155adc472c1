#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::Harness;
using federation::RequestEvaluation;
using federation::Settings;
using federation::UpdateId;
using testing::IsSupersetOf;

std::vector<LearnerId> Learners(uint32_t count) {
  std::vector<LearnerId> learners;
  for (uint32_t k = 0; k < count; ++k) learners.emplace_back(k);
  return learners;
}

std::vector<LearnerId> Chosen(const std::vector<LearnerId>& able, uint64_t sequence,
                              int64_t size = 3, uint64_t seed = 1990) {
  Settings settings;
  settings.seed = seed;
  Set(settings, "validation.sample_size", size);
  const UpdateId update{LearnerId(77), Incarnation(1), Sequence(sequence)};
  return SampleEvaluators().make(settings)->Choose(able, update);
}

TEST(SampleEvaluators, AsksSoManyInIdOrderAndAllWhereThereAreFewer) {
  const std::vector<LearnerId> able = Learners(10);
  const std::vector<LearnerId> chosen = Chosen(able, 1);
  EXPECT_EQ(chosen.size(), 3u);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_THAT(able, IsSupersetOf(chosen));
  EXPECT_EQ(Chosen(Learners(2), 1), Learners(2));
  EXPECT_TRUE(Chosen({}, 1).empty());
}

TEST(SampleEvaluators, TheSameUpdateHasTheSameSampleAndOthersHaveOthers) {
  EXPECT_EQ(Chosen(Learners(10), 5), Chosen(Learners(10), 5));
  std::map<std::vector<LearnerId>, int> samples;
  for (uint64_t sequence = 1; sequence <= 100; ++sequence)
    ++samples[Chosen(Learners(10), sequence)];
  EXPECT_GT(samples.size(), 50u);
  EXPECT_NE(Chosen(Learners(10), 5), Chosen(Learners(10), 5, 3, 7));
}

TEST(SampleEvaluators, EverybodysTurnComesAboutEquallyOften) {
  std::map<LearnerId, int> asked;
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) {
    for (LearnerId learner : Chosen(Learners(10), sequence)) ++asked[learner];
  }
  for (LearnerId learner : Learners(10)) {
    EXPECT_GT(asked[learner], 230) << learner.value();  // 300 expected, deviation 14
    EXPECT_LT(asked[learner], 370) << learner.value();
  }
}

TEST(SampleEvaluators, OneThatIsGoneChangesOnePlace) {
  std::vector<LearnerId> able = Learners(10);
  for (uint64_t sequence = 1; sequence <= 50; ++sequence) {
    const std::vector<LearnerId> before = Chosen(able, sequence);
    std::vector<LearnerId> fewer = able;
    std::erase(fewer, before[1]);
    std::vector<LearnerId> rest = before;
    std::erase(rest, before[1]);
    EXPECT_THAT(Chosen(fewer, sequence), IsSupersetOf(rest)) << sequence;
  }
}

TEST(SampleEvaluators, AreTheOnesThatTheControllerAsks) {
  Settings settings = federation::SettingsFor("async-dvw", 6);
  settings.policy = With(settings.policy, "evaluators", "sample");
  Set(settings, "validation.sample_size", 2);
  Harness h(settings);
  h.JoinAll();
  h.Update(4, 1, 2);
  EXPECT_EQ(h.Count<RequestEvaluation>(), 2u);
  for (const RequestEvaluation& request : h.All<RequestEvaluation>()) {
    EXPECT_NE(request.evaluator, LearnerId(4));
  }
}

TEST(SampleEvaluators, ItsOracleCountsThem) {
  Settings settings;
  Set(settings, "validation.sample_size", 2);
  const UpdateId update{LearnerId(77), Incarnation(1), Sequence(1)};
  const auto wrong = [&](size_t able, uint32_t asked) {
    return SampleEvaluators()
        .expect(settings, update, Learners(static_cast<uint32_t>(able)), Learners(asked))
        .has_value();
  };
  EXPECT_FALSE(wrong(5, 2));
  EXPECT_FALSE(wrong(1, 1));
  EXPECT_TRUE(wrong(5, 1));
  EXPECT_TRUE(wrong(5, 5));
}

}  // namespace
}  // namespace metis::policy
