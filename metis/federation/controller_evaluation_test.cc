// Distributed evaluation as the controller runs it: deadlines, coverage, evaluators that are
// silent, gone or lying.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Validation examples of learners 0 to 3: 5, 8, 11, 14.
constexpr uint64_t kFirst = 1;  // the first update's place in arrival order

std::vector<uint32_t> Evaluators(const Harness& h) {
  std::vector<uint32_t> asked;
  for (const RequestEvaluation& request : h.All<RequestEvaluation>()) {
    asked.push_back(request.evaluator.value());
  }
  return asked;
}

TEST(ControllerEvaluation, TheCandidateGoesToAllOtherLiveLearners) {
  Harness h(SettingsFor("async-dvw", 4));
  h.JoinAll();
  h.JoinObserver(8);
  h.Lose(3);
  h.Update(1, 1, 2);
  EXPECT_THAT(Evaluators(h), ElementsAre(0, 2));
  EXPECT_EQ(h.All<RequestEvaluation>()[0].update, h.IdOf(1, 1));
  EXPECT_EQ(h.All<RequestEvaluation>()[0].model->parameters()[0], 2);
  EXPECT_EQ(h.One<StartTimer>().due,
            h.now() + h.settings().policy.weighting->evaluation(h.settings()).deadline);
}

TEST(ControllerEvaluation, ALearnerWithoutAValidationSetIsNotAsked) {
  Harness h(SettingsFor("async-dvw", 3));
  h.Join(0);
  LearnerJoined without = h.Joining(1);
  without.validation_counts = {};
  h.Send(without);
  h.Join(2);
  h.Update(0, 1, 2);
  EXPECT_THAT(Evaluators(h), ElementsAre(2));
  UpdateReceived update = h.Updating(1, 1, 3);
  update.own_counts = ConfusionCounts();
  h.Send(update);
  EXPECT_EQ(h.Count<AcknowledgeUpdate>(), 1u);
  EXPECT_THAT(Evaluators(h), ElementsAre(0, 2));
}

TEST(ControllerEvaluation, ALoneLearnerIsWeighedByItsOwnCounts) {
  Harness h(SettingsFor("async-dvw", 1));
  h.JoinAll();
  h.Update(0, 1, 2);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].contribution, 1.0 / 5);
}

TEST(ControllerEvaluation, TheDeadlineCommitsWithWhatCoversTwoThirds) {
  Harness h(SettingsFor("async-dvw", 4));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Answer(2, h.IdOf(1, 1), 9);
  h.Answer(3, h.IdOf(1, 1), 10);  // 25 of the 30 asked for
  h.Fire(TimerId::Kind::kEvaluation, kFirst);
  auto cancelled = h.One<CancelEvaluation>();
  EXPECT_EQ(cancelled.evaluator, LearnerId(0));
  EXPECT_EQ(cancelled.update, h.IdOf(1, 1));
  CommittedUpdate committed = h.One<CommunityCommitted>().updates[0];
  EXPECT_EQ(committed.coverage, 25.0 / 30);
  EXPECT_FALSE(committed.kept_previous);
  EXPECT_EQ(committed.contribution, (9.0 + 10 + 1) / (25 + 8));
}

TEST(ControllerEvaluation, BelowTwoThirdsTheLearnerKeepsItsPreviousContribution) {
  Harness h(SettingsFor("async-dvw", 4));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Answer(0, h.IdOf(1, 1), 5);
  h.Answer(2, h.IdOf(1, 1), 9);
  h.Answer(3, h.IdOf(1, 1), 10);
  double previous = h.One<CommunityCommitted>().updates[0].contribution;
  h.Update(1, 2, 7);
  h.Answer(0, h.IdOf(1, 2), 1);
  h.Answer(3, h.IdOf(1, 2), 1);  // 19 of 30
  h.Fire(TimerId::Kind::kEvaluation, 2);
  CommittedUpdate committed = h.One<CommunityCommitted>().updates[0];
  EXPECT_TRUE(committed.kept_previous);
  EXPECT_NEAR(committed.contribution, previous, 1e-9);  // as rounded to the grid
  EXPECT_EQ(h.controller().aggregator().contribution(LearnerId(1)), committed.contribution);
}

TEST(ControllerEvaluation, WithoutAPreviousContributionItHasNoneAndTheCommunityStays) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Fire(TimerId::Kind::kEvaluation, kFirst);
  CommittedUpdate committed = h.One<CommunityCommitted>().updates[0];
  EXPECT_TRUE(committed.kept_previous);
  EXPECT_EQ(committed.contribution, 0);
  EXPECT_EQ(h.controller().community(), h.initial());
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
}

TEST(ControllerEvaluation, AnEvaluatorThatCannotIsNotWaitedFor) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Send(EvaluationFailed{LearnerId(0), kFirstLife, h.IdOf(1, 1)});
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Answer(2, h.IdOf(1, 1), 6);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].coverage, 11.0 / 16);
}

TEST(ControllerEvaluation, AnEvaluatorThatIsGoneNoLongerCounts) {
  for (bool leaves : {true, false}) {
    Harness h(SettingsFor("async-dvw", 3));
    h.JoinAll();
    h.Update(1, 1, 2);
    h.Answer(0, h.IdOf(1, 1), 3);
    leaves ? h.Leave(2) : h.Lose(2);
    CommittedUpdate committed = h.One<CommunityCommitted>().updates[0];
    EXPECT_EQ(committed.coverage, 1);
    EXPECT_EQ(committed.contribution, 4.0 / 13);
  }
}

TEST(ControllerEvaluation, AnEvaluatorsNewLifeWasNotAsked) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Answer(0, h.IdOf(1, 1), 3);
  h.Join(2, kSecondLife);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].coverage, 1);
}

TEST(ControllerEvaluation, ForgedCountsAreRefusedAndCountAgainstCoverage) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Send(CountsReceived{LearnerId(0), kFirstLife, h.IdOf(1, 1), CountsOf({3, 3}, 6)});
  EXPECT_EQ(h.One<RefuseCounts>().evaluator, LearnerId(0));
  h.Answer(0, h.IdOf(1, 1), 3);  // too late to be honest
  h.Answer(2, h.IdOf(1, 1), 6);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].coverage, 11.0 / 16);
}

TEST(ControllerEvaluation, ForgedOwnCountsRefuseTheUpdate) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  UpdateReceived update = h.Updating(1, 1, 2);
  update.own_counts = CountsOf({4, 5}, 9);
  h.Send(update);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kForgedCounts);
  EXPECT_THAT(h.One<RejectUpdate>().message, HasSubstr("class 1"));
}

TEST(ControllerEvaluation, OwnCountsAreLeftOutIfSoSet) {
  Settings settings = SettingsFor("async-dvw", 2);
  policy::Set(settings, "validation.count_own_validation", false);
  Harness h(settings);
  h.JoinAll();
  UpdateReceived update = h.Updating(1, 1, 2);
  update.own_counts = CountsOf({400, 500}, 900);  // of no interest
  h.Send(update);
  h.Answer(0, h.IdOf(1, 1), 4);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].contribution, 4.0 / 5);
}

TEST(ControllerEvaluation, RepeatedAndUnaskedAnswersAreIgnored) {
  Harness h(SettingsFor("async-dvw", 4));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Answer(0, h.IdOf(1, 1), 3);
  uint64_t before = h.controller().StateHash();
  h.Answer(0, h.IdOf(1, 1), 5);  // repeated
  h.Answer(1, h.IdOf(1, 1), 8);  // the requester itself
  h.Answer(2, h.IdOf(3, 1), 8);  // of an update that does not exist
  h.Send(CountsReceived{LearnerId(2), kSecondLife, h.IdOf(1, 1), CountsOf(ValidationCounts(2), 9)});
  EXPECT_THAT(h.actions(), IsEmpty());
  EXPECT_EQ(h.controller().StateHash(), before);
}

TEST(ControllerEvaluation, AfterItsDeadlineAnUpdateInTheQueueTakesNoMoreAnswers) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.After(Duration::Seconds(60));
  h.Update(1, 1, 2);
  h.Answer(0, h.IdOf(1, 1), 5);
  h.Send(EvaluationFailed{LearnerId(2), kFirstLife, h.IdOf(1, 1)});
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Command(OperatorCommand::Kind::kPause);
  h.Fire(TimerId::Kind::kEvaluation, 1);
  EXPECT_EQ(h.Count<CancelEvaluation>(), 2u);
  h.Answer(1, h.IdOf(0, 1), 8);
  h.Answer(2, h.IdOf(0, 1), 11);
  std::vector<Action> resumed;
  h.controller().Resume(resumed);
  for (const Action& action : resumed) EXPECT_TRUE(std::holds_alternative<StartTimer>(action));
  h.Lose(2);  // too late to be left out of the coverage
  h.Command(OperatorCommand::Kind::kResume);
  std::vector<CommunityCommitted> notes = h.All<CommunityCommitted>();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].updates[0].coverage, 0);
  EXPECT_EQ(notes[1].updates[0].coverage, 5.0 / 16);
}

TEST(ControllerEvaluation, AStaleDeadlineDoesNothing) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Answer(1, h.IdOf(0, 1), 5);
  h.Update(0, 2, 1);
  h.Fire(TimerId::Kind::kEvaluation, 1);
  EXPECT_THAT(h.actions(), IsEmpty());
}

}  // namespace
}  // namespace metis::federation
