// How a federation ends, and what it says to those who come after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Settings With(std::string_view policy, uint32_t learners, StopSettings stop) {
  Settings settings = SettingsFor(policy, learners);
  settings.stop = stop;
  return settings;
}

TEST(ControllerEnd, ByDuration) {
  Harness h(With("async-fedavg", 2, {.duration = Duration::Seconds(100)}));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Fire(TimerId::Kind::kDuration);
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kDuration);
  EXPECT_EQ(h.One<Finished>().version, Version(1));
  EXPECT_EQ(h.Count<Dismiss>(), 2u);
  EXPECT_EQ(h.controller().stop_reason(), StopReason::kDuration);
  EXPECT_EQ(h.controller().phase(), Phase::kFinished);
}

TEST(ControllerEnd, ByRounds) {
  Harness h(With("sync-fedavg", 2, {.rounds = 1}));
  h.JoinAll();
  h.Update(0, 1, 1);
  EXPECT_EQ(h.Count<Finished>(), 0u);
  h.Update(1, 1, 2);
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kRounds);
}

TEST(ControllerEnd, ByRequestsAndNotOneMore) {
  Harness h(With("async-fedavg", 3, {.requests = 2}));
  h.JoinAll();
  h.Command(OperatorCommand::Kind::kPause);
  for (uint32_t k : {2u, 0u, 1u}) h.Update(k, 1, 1);
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 2u);
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kRequests);
  EXPECT_EQ(h.One<RejectUpdate>().id, h.IdOf(1, 1));
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kFinished);
}

TEST(ControllerEnd, ByTargetAccuracyWhenTheTestArrives) {
  Settings settings = With("async-fedavg", 1, {.target_accuracy = 0.6});
  settings.test.every_commits = 1;
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  h.Test(9, 0, 59);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.controller().phase(), Phase::kRunning);
  h.Test(9, 1, 60);
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kTargetAccuracy);
}

TEST(ControllerEnd, ByPatience) {
  Settings settings = With("async-fedavg", 1, {.patience = 2});
  settings.test.every_commits = 1;
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  const uint64_t right[] = {40, 50, 45, 50};
  for (uint64_t version = 0; version < 4; ++version) {
    if (version > 0) h.Update(0, version, 1);
    EXPECT_EQ(h.controller().phase(), Phase::kRunning);
    h.Test(9, version, right[version]);
  }
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kPatience);
  EXPECT_EQ(h.controller().tests().best_version(), Version(1));
}

TEST(ControllerEnd, ByTheOperatorInAnyPhase) {
  for (bool begun : {false, true}) {
    Harness h(SettingsFor("async-fedavg", 2));
    h.Join(0);
    if (begun) h.Join(1);
    h.Command(OperatorCommand::Kind::kStop);
    EXPECT_EQ(h.One<Finished>().reason, StopReason::kOperator);
    uint64_t before = h.controller().StateHash();
    h.Command(OperatorCommand::Kind::kStop);  // twice is once
    h.Command(OperatorCommand::Kind::kPause);
    EXPECT_THAT(h.actions(), IsEmpty());
    EXPECT_EQ(h.controller().StateHash(), before);
  }
}

TEST(ControllerEnd, ByATestThatArrivesDuringAPause) {
  for (const bool by_operator : {true, false}) {
    Settings settings = With("async-fedavg", 2, {.target_accuracy = 0.6});
    settings.test.every_commits = 1;
    settings.membership.quorum = 2;
    Harness h(settings);
    h.JoinObserver(9);
    h.JoinAll();
    h.Update(0, 1, 1);
    by_operator ? h.Command(OperatorCommand::Kind::kPause) : h.Leave(1);
    ASSERT_EQ(h.controller().phase(), Phase::kPaused);
    h.Test(9, 0, 59);
    EXPECT_EQ(h.controller().phase(), Phase::kPaused);
    h.Test(9, 1, 60);
    EXPECT_EQ(h.One<Finished>().reason, StopReason::kTargetAccuracy);
  }
}

TEST(ControllerEnd, TheFinalModelIsTestedAndThenTheObserverIsDismissed) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(9);
  h.JoinAll();
  h.Test(9, 0, 20);
  h.Update(0, 1, 1);
  h.Command(OperatorCommand::Kind::kStop);
  EXPECT_EQ(h.One<RequestTest>().version, Version(1));
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(0));
  h.Test(9, 1, 70);
  EXPECT_EQ(h.controller().tests().latest_accuracy(), 0.7);
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(9));
}

TEST(ControllerEnd, AnObserverThatComesBackAfterTheEndStillOwesTheLastTest) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(9);
  h.JoinAll();
  h.Test(9, 0, 20);
  h.Update(0, 1, 1);
  h.Command(OperatorCommand::Kind::kStop);
  h.JoinObserver(9, kSecondLife);
  EXPECT_EQ(h.One<RequestTest>().version, Version(1));
  h.Test(9, 1, 70);
  EXPECT_EQ(h.controller().tests().latest_accuracy(), 0.7);
  h.JoinObserver(9, Incarnation(3));
  EXPECT_EQ(h.Count<AcceptJoin>(), 0u);
  EXPECT_EQ(h.Count<Dismiss>(), 1u);
}

TEST(ControllerEnd, TheFinalModelIsTestedByAnObserverThatWasAwayAtTheEnd) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(9);
  h.JoinAll();
  h.Lose(9);  // with the initial model in hand
  h.Update(0, 1, 1);
  h.Command(OperatorCommand::Kind::kStop);
  h.JoinObserver(9, kSecondLife);
  h.Test(9, 0, 20);
  EXPECT_EQ(h.One<RequestTest>().version, Version(1));
  EXPECT_EQ(h.Count<Dismiss>(), 0u);
  h.Test(9, 1, 70);
  EXPECT_EQ(h.controller().tests().latest_accuracy(), 0.7);
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(9));
}

TEST(ControllerEnd, WithoutATestToWaitForTheObserverIsDismissedAtOnce) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(9);
  h.JoinAll();
  h.Test(9, 0, 20);
  h.Command(OperatorCommand::Kind::kStop);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
  EXPECT_EQ(h.Count<Dismiss>(), 2u);
}

TEST(ControllerEnd, RefusesWhatIsPendingByName) {
  Harness h(With("sync-dvw", 3, {.duration = Duration::Seconds(100)}));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Answer(1, h.IdOf(0, 1), 2);
  h.Answer(2, h.IdOf(0, 1), 2);  // weighed, and waits for the round
  h.Update(2, 1, 1);             // under evaluation
  h.Fire(TimerId::Kind::kDuration);
  std::vector<UpdateId> refused;
  for (const RejectUpdate& each : h.All<RejectUpdate>()) {
    EXPECT_EQ(each.reason, RejectReason::kFinished);
    refused.push_back(each.id);
  }
  EXPECT_THAT(refused, testing::UnorderedElementsAre(h.IdOf(0, 1), h.IdOf(2, 1)));
  EXPECT_THAT(h.controller().Pending(), IsEmpty());
  EXPECT_EQ(h.controller().version(), Version(0));
}

TEST(ControllerEnd, WhoeverComesAfterwardsIsDismissed) {
  Harness h(SettingsFor("sync-fedavg", 2));
  h.JoinAll();
  h.Lose(1);
  h.Command(OperatorCommand::Kind::kStop);
  h.Return(1);
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(1));
  EXPECT_EQ(h.actions().size(), 1u);  // and gets no model
  h.Join(5);
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(5));
  h.Ask(0, 0);
  EXPECT_EQ(h.Count<Dismiss>(), 1u);
  h.Send(EpochReported{LearnerId(0), kFirstLife, 1, 1});
  EXPECT_EQ(h.Count<Dismiss>(), 1u);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kFinished);
  EXPECT_EQ(h.Count<Dismiss>(), 1u);
  h.Lose(0);
  EXPECT_THAT(h.actions(), IsEmpty());  // no lease is started any more
}

TEST(ControllerEnd, AnUpdateKeepsTheVerdictItHadBeforeTheEnd) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  UpdateReceived committed = h.Updating(0, 1, 1);
  UpdateReceived pending = h.Updating(1, 1, 1);
  h.Send(committed);
  h.Answer(1, committed.id, 4);
  h.Send(pending);
  h.Command(OperatorCommand::Kind::kStop);
  EXPECT_EQ(h.One<RejectUpdate>().id, pending.id);
  h.Send(committed);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, committed.id);
  EXPECT_EQ(h.Count<RejectUpdate>(), 0u);
  EXPECT_EQ(h.Count<Dismiss>(), 1u);
  h.Send(pending);
  EXPECT_EQ(h.One<RejectUpdate>().id, pending.id);
  EXPECT_EQ(h.Count<AcknowledgeUpdate>(), 0u);
}

}  // namespace
}  // namespace metis::federation
