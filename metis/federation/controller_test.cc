// The controller's conversation about updates: repeats, refusals, asking again. Members,
// evaluation, the end and snapshots have files of their own (controller_*_test.cc).
#include "metis/federation/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Controller, StartsWhenAllExpectedLearnersHaveJoined) {
  Harness h(SettingsFor("async-fedavg", 3));
  h.Join(0);
  EXPECT_EQ(h.One<AcceptJoin>().learner, LearnerId(0));
  h.Join(1);
  EXPECT_THAT(h.Receivers(), IsEmpty());
  EXPECT_EQ(h.controller().phase(), Phase::kWaiting);
  h.Join(2);
  EXPECT_EQ(h.controller().phase(), Phase::kRunning);
  for (const SendCommunity& sent : h.All<SendCommunity>()) {
    EXPECT_EQ(sent.model, h.initial());
    EXPECT_EQ(sent.version, Version(0));
    EXPECT_EQ(sent.answers, Sequence(0));
  }
}

TEST(Controller, StartsWithFewerIfSoSetAndWelcomesTheOthersLater) {
  Settings settings = SettingsFor("async-fedavg", 5);
  settings.membership.start_with = 2;
  Harness h(settings);
  h.Join(0);
  h.Join(3);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 3));
  h.Update(3, 1, 2);
  h.Join(1);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
}

TEST(Controller, ALearnerThatWasLostBeforeTheStartIsNotCounted) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.Join(0);
  h.Lose(0);
  h.Join(1);
  EXPECT_EQ(h.controller().phase(), Phase::kWaiting);
  h.Return(0);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));
}

TEST(Controller, ARepeatedUpdateUnderEvaluationIsAcknowledgedAgainAndNotTwiceTaken) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  h.Update(0, 1, 2);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, h.IdOf(0, 1));
  uint64_t before = h.controller().StateHash();
  h.Update(0, 1, 2);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, h.IdOf(0, 1));
  EXPECT_EQ(h.actions().size(), 1u);
  EXPECT_EQ(h.controller().StateHash(), before);
}

TEST(Controller, ARepeatedCommittedUpdateGetsItsVerdictAndTheCurrentModel) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  UpdateReceived update = h.Updating(0, 1, 2);
  h.Send(update);
  h.Update(1, 1, 5);
  uint64_t requests = h.controller().statistics().requests;
  h.Send(update);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, update.id);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(2));
  EXPECT_EQ(h.One<SendCommunity>().model, h.controller().community());
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  EXPECT_EQ(h.controller().statistics().requests, requests);
}

TEST(Controller, ARepeatedRefusedUpdateGetsItsVerdictAndTheCurrentModel) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  UpdateReceived update = h.Updating(0, 1, 1e30f);
  h.Send(update);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(0));
  h.Update(1, 1, 5);
  h.Send(update);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
  EXPECT_EQ(h.controller().statistics().rejected, 1u);
}

TEST(Controller, ALongPastUpdateIsIgnored) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  UpdateReceived first = h.Updating(0, 1, 2);
  h.Send(first);
  h.Update(0, 2, 3);
  uint64_t before = h.controller().StateHash();
  h.Send(first);
  EXPECT_THAT(h.actions(), IsEmpty());
  EXPECT_EQ(h.controller().StateHash(), before);
}

TEST(Controller, RefusesValuesThatTheGateStopsAndAnswersWithTheCommunity) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(1, 1, 3);
  std::vector<float> before = Values(h.controller().community());
  uint64_t sequence = 1;
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    1e30f, -8192.0f}) {
    h.Update(0, sequence++, bad);
    EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate) << bad;
    EXPECT_THAT(h.One<RejectUpdate>().message, HasSubstr("learner 0"));
    EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(sequence - 1));
    EXPECT_EQ(Values(h.controller().community()), before);
  }
  EXPECT_EQ(h.controller().statistics().rejected, 4u);
}

TEST(Controller, RefusesAModelOfAnotherSchemaOrNone) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  UpdateReceived update = h.Updating(0, 1, 2);
  Models others(7);
  update.model = others.From(1);
  h.Send(update);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kSchema);
  update.id.sequence = Sequence(2);
  update.model = nullptr;
  h.Send(update);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kSchema);
}

TEST(Controller, RefusesABaseThatTheLearnerWasNotSent) {
  Harness h(SettingsFor("async-fedavg", 3));
  h.JoinAll();
  h.Update(0, 1, 1);  // learner 0 now holds version 1
  UpdateReceived update = h.Updating(1, 1, 2);
  for (uint64_t unknown : {1u, 2u}) {
    update.id.sequence = Sequence(unknown);
    update.base = Version(unknown);
    h.Send(update);
    EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownBase);
    EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
  }
}

TEST(Controller, ANewLifeHoldsNoneOfItsPredecessorsModels) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(1, 1, 1);
  h.Join(0, kSecondLife);
  UpdateReceived update = h.Updating(0, 1, 2);
  EXPECT_EQ(update.base, Version(1));
  update.base = Version(0);
  h.Send(update);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownBase);
}

TEST(Controller, TheLargestSetThatIsBelievedDoesNotMakeOthersVanish) {
  Harness h(SettingsFor("async-fedavg", 2));
  LearnerJoined boaster = h.Joining(1);
  boaster.training_examples = uint64_t{1} << 30;
  h.Join(0);
  h.Send(boaster);
  ASSERT_EQ(h.Count<AcceptJoin>(), 1u);
  h.Update(0, 1, 3);
  EXPECT_EQ(h.controller().aggregator().total_contribution(), TrainingExamples(0));
  EXPECT_EQ(Values(h.controller().community()), Values(h.models().From(3)));
}

TEST(Controller, BeforeTheBeginningAnUpdateIsNotTakenForAStrangers) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.Join(0);  // known to a controller that was restored from a copy of before the beginning
  h.Update(0, 1, 2);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownBase);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Join(1);
  EXPECT_EQ(h.Count<SendCommunity>(), 2u);
}

TEST(Controller, RefusesUpdatesOfAnOldLifeAndOfStrangers) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  UpdateReceived old = h.Updating(0, 1, 2);
  h.Join(0, kSecondLife);
  h.Send(old);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kStaleIncarnation);
  EXPECT_THAT(h.One<RejectUpdate>().message, HasSubstr("running twice"));
  h.Update(9, 1, 2);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownLearner);
  UpdateReceived early = h.Updating(1, 1, 2);
  early.id.incarnation = Incarnation(7);  // its join has not arrived yet
  h.Send(early);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownLearner);
  EXPECT_EQ(h.controller().statistics().rejected, 3u);
}

TEST(Controller, AReplacedLifeThatStillAsksIsSentAway) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Join(0, kSecondLife);
  h.Send(CommunityRequested{LearnerId(0), kFirstLife, Sequence(0)});
  EXPECT_EQ(h.One<Dismiss>().incarnation, kFirstLife);
  h.Send(EpochReported{LearnerId(0), kFirstLife, 1, 1});
  EXPECT_EQ(h.One<Dismiss>().incarnation, kFirstLife);
  EXPECT_EQ(h.Count<ReportSteps>(), 0u);
}

TEST(Controller, ALearnerThatWaitsAsksAgain) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  h.Ask(0, 0);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(0));  // the first sending got lost
  h.Update(0, 1, 2);
  h.Ask(0, 1);
  EXPECT_THAT(h.actions(), IsEmpty());  // the commit will answer
  h.Answer(1, h.IdOf(0, 1), 4);
  h.Ask(0, 1);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
}

// As after the restore of an older copy of the controller's state.
TEST(Controller, ALearnerThatKnowsMoreThanTheControllerGoesOnFromItsModel) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 2);
  h.Ask(0, 9);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownUpdate);
  EXPECT_EQ(h.One<RejectUpdate>().id, h.IdOf(0, 9));
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
  EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(9));
  h.Ask(0, 9);  // the answers got lost
  EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(9));
  h.Update(0, 9, 3);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(0, 10, 3);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 1u);
}

TEST(Controller, WhoAsksAndIsNotKnownIsToldToJoin) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Send(CommunityRequested{LearnerId(7), kFirstLife, Sequence(4)});
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownLearner);
  h.Send(CommunityRequested{LearnerId(1), kSecondLife, Sequence(4)});
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownLearner);
  h.Leave(1);
  h.Send(CommunityRequested{LearnerId(1), kFirstLife, Sequence(0)});
  EXPECT_THAT(h.actions(), IsEmpty());
}

TEST(Controller, ReportsTheCommittedStepsAtTheEndOfAnEpoch) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 2, 42);
  h.Send(EpochReported{LearnerId(1), kFirstLife, 1, 1});
  EXPECT_EQ(h.One<ReportSteps>().committed_steps, 42u);
  h.Send(EpochReported{LearnerId(9), kFirstLife, 1, 1});
  EXPECT_THAT(h.actions(), IsEmpty());
}

TEST(Controller, ARequestExchangesTwoModels) {
  for (std::string_view policy : {"async-fedavg", "fedasync", "sync-fedavg"}) {
    Harness h(SettingsFor(policy, 4));
    h.JoinAll();
    for (uint32_t k = 0; k < 4; ++k) h.Update(k, 1, 1);
    EXPECT_EQ(h.controller().statistics().requests, 4u);
    EXPECT_EQ(h.controller().statistics().models_exchanged, 8u) << policy;
    EXPECT_EQ(h.controller().statistics().models_evaluated, 0u);
  }
}

TEST(Controller, UnderDvwARequestExchangesOneModelMoreThanThereAreLearners) {
  for (std::string_view policy : {"async-dvw", "async-dvw-adaptive", "sync-dvw"}) {
    Harness h(SettingsFor(policy, 10));
    h.JoinAll();
    for (uint32_t k = 0; k < 10; ++k) h.Update(k, 1, 1);
    for (uint32_t k = 0; k < 10; ++k) {
      for (uint32_t evaluator = 0; evaluator < 10; ++evaluator) {
        if (evaluator != k) h.Answer(evaluator, h.IdOf(k, 1), 2);
      }
    }
    EXPECT_EQ(h.controller().statistics().requests, 10u);
    EXPECT_EQ(h.controller().statistics().models_exchanged, 10u * 11) << policy;
    EXPECT_EQ(h.controller().statistics().models_evaluated, 90u);
  }
}

TEST(Controller, TimeNeverRunsBackwards) {
  Settings settings = SettingsFor("async-fedavg", 1);
  settings.stop.duration = Duration::Seconds(10);
  Harness h(settings);
  std::vector<Action> out;
  h.Join(0);
  Instant due = h.One<StartTimer>().due;
  h.controller().Handle(due - Duration::Seconds(30), EpochReported{LearnerId(0), kFirstLife, 1, 1},
                        out);
  TimerId timer{TimerId::Kind::kDuration, 0};
  h.controller().Handle(due - Duration::Nanoseconds(1), TimerFired{timer}, out);
  EXPECT_EQ(h.controller().phase(), Phase::kRunning);  // too early
  h.controller().Handle(due, TimerFired{timer}, out);
  EXPECT_EQ(h.controller().phase(), Phase::kFinished);
}

}  // namespace
}  // namespace metis::federation
