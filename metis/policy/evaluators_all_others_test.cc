#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::Harness;
using federation::RequestEvaluation;
using federation::UpdateId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

const UpdateId kUpdate{LearnerId(2), Incarnation(1), Sequence(9)};

TEST(AllOthersEvaluators, ChoosesEverybodyWhoIsAble) {
  const auto selector = AllOthersEvaluators().make({});
  const std::vector<LearnerId> able = {LearnerId(0), LearnerId(1), LearnerId(5)};
  EXPECT_EQ(selector->Choose(able, kUpdate), able);
  EXPECT_TRUE(selector->Choose({}, kUpdate).empty());
}

TEST(AllOthersEvaluators, TheControllerAsksAllButTheLearnerItselfAndThoseThatAreGone) {
  Harness h(federation::SettingsFor("async-dvw", 5));
  h.JoinAll();
  h.Lose(3);
  h.Update(1, 1, 2);
  std::vector<uint32_t> asked;
  for (const RequestEvaluation& request : h.All<RequestEvaluation>()) {
    asked.push_back(request.evaluator.value());
  }
  EXPECT_THAT(asked, ElementsAre(0, 2, 4));
}

TEST(AllOthersEvaluators, ItsOracleNamesTheOneThatWasNotAsked) {
  const std::vector<LearnerId> able = {LearnerId(0), LearnerId(4), LearnerId(5)};
  const auto wrong = [&](const std::vector<LearnerId>& asked) {
    return AllOthersEvaluators().expect({}, kUpdate, able, asked);
  };
  EXPECT_FALSE(wrong(able).has_value());
  EXPECT_THAT(wrong({LearnerId(0), LearnerId(5)}), Optional(HasSubstr("learner 4 was not asked")));
}

}  // namespace
}  // namespace metis::policy
