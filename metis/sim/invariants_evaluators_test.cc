// Whom a candidate goes to: the law follows who is there by the events alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

using federation::Action;
using federation::Harness;
using federation::RequestEvaluation;
using testing::HasSubstr;

// Who is there changes between the updates.
TEST(Invariants, EveryOtherLiveLearnerWithValidationDataIsAskedAndNobodyElse) {
  Script script(federation::SettingsFor("async-dvw", 4));
  Harness& harness = script.harness;
  script.JoinAll();
  harness.JoinObserver(7);
  script.Hear();
  federation::LearnerJoined without_data = harness.Joining(5);
  without_data.validation_counts = {};
  harness.Send(without_data);
  script.Hear();
  script.Update(0, 1, 0.5f, 7);
  EXPECT_EQ(harness.Count<RequestEvaluation>(), 3u);
  harness.Lose(1);
  script.Hear();
  harness.Leave(2);
  script.Hear();
  script.Update(3, 1, -2, 12);
  EXPECT_EQ(harness.One<RequestEvaluation>().evaluator, LearnerId(0));
  script.Update(3, 1, -2, 12);
  EXPECT_EQ(harness.Count<RequestEvaluation>(), 0u) << "a repeated one goes to nobody again";
  harness.Return(1);
  script.Hear();
  harness.Join(2, federation::kSecondLife);
  script.Hear();
  harness.Command(federation::OperatorCommand::Kind::kPause);
  script.Hear();
  script.Update(1, 1, 1.5f, 3);
  EXPECT_EQ(harness.Count<RequestEvaluation>(), 3u) << "during a pause, too";
  EXPECT_EQ(script.Violation(), "");
}

TEST(Invariants, NoticeAnEvaluatorThatIsForgottenOrAskedAmiss) {
  auto violation = [](std::function<void(std::vector<RequestEvaluation>&)> change) {
    Script script(federation::SettingsFor("async-dvw", 3));
    script.JoinAll();
    script.doctor = [&](std::vector<Action>& actions) {
      auto requests = script.harness.All<RequestEvaluation>();
      change(requests);
      Drop<RequestEvaluation>(actions);
      actions.insert(actions.end(), requests.begin(), requests.end());
    };
    script.Update(0, 1, 0.5f, 7);
    return script.Violation();
  };
  EXPECT_EQ(violation([](auto&) {}), "");
  EXPECT_THAT(violation([](auto& requests) { requests.pop_back(); }),
              HasSubstr("the live learner 2 was not asked to evaluate the update of learner 0"));
  EXPECT_THAT(
      violation([](auto& requests) { requests[1].evaluator = LearnerId(0); }),
      HasSubstr("learner 0 was asked to evaluate the update of learner 0 twice, or should"));
  EXPECT_THAT(
      violation([](auto& requests) { requests.push_back(requests[0]); }),
      HasSubstr("learner 1 was asked to evaluate the update of learner 0 twice, or should"));
  EXPECT_THAT(violation([](auto& requests) { requests[0].incarnation = federation::kSecondLife; }),
              HasSubstr("in a life that is not its present one"));
  federation::Models models;
  EXPECT_THAT(violation([&](auto& requests) { requests[0].model = models.From(3); }),
              HasSubstr("with another model"));
}

TEST(Invariants, NoticeAnEvaluationThatNoWeightingNeeds) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.JoinAll();
  script.doctor = [&](std::vector<Action>& actions) {
    actions.push_back(RequestEvaluation{LearnerId(1), federation::kFirstLife,
                                        script.harness.IdOf(0, 1), script.harness.initial()});
  };
  script.Update(0, 1, 0.5f, 7);
  EXPECT_THAT(script.Violation(), HasSubstr("twice, or should not have been"));
}

// Heard by the laws alone: to the controller learner 2 is there all the time.
TEST(Invariants, WhoHasLeftIsGoneByTheEventsAloneUntilItJoins) {
  for (bool joins : {false, true}) {
    Script script(federation::SettingsFor("async-dvw", 3));
    script.JoinAll();
    script.invariants.Handled(script.harness.now(),
                              federation::LearnerLeft{LearnerId(2), federation::kFirstLife}, {},
                              script.harness.controller());
    script.harness.Send(federation::EpochReported{LearnerId(2), federation::kFirstLife, 1, 1});
    script.Hear();
    if (joins) {
      script.harness.Join(2);
      script.Hear();
    }
    script.Update(0, 1, 0.5f, 7);
    if (joins) {
      EXPECT_EQ(script.Violation(), "");
    } else {
      EXPECT_THAT(script.Violation(), HasSubstr("learner 2 was asked to evaluate the update"));
    }
  }
}

}  // namespace
}  // namespace metis::sim
