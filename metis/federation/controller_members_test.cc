// Joining, leases, pauses and observers as the controller handles them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(ControllerMembers, ARefusedJoinSaysWhyAndChangesNothing) {
  Settings settings = SettingsFor("async-dvw", 3);
  settings.membership.max_learners = 3;
  Harness h(settings);
  h.JoinAll();
  h.Join(1, kSecondLife);
  uint64_t before = h.controller().StateHash();
  LearnerJoined event = h.Joining(0, kSecondLife);
  event.schema_hash ^= 1;
  h.Send(event);
  EXPECT_THAT(h.One<RefuseJoin>().message, HasSubstr("schema"));
  event = h.Joining(0, kSecondLife);
  event.validation_counts = {1, 2, 3, 4};
  h.Send(event);
  EXPECT_THAT(h.One<RefuseJoin>().message, HasSubstr("4 classes"));
  h.Join(1, kFirstLife);
  EXPECT_THAT(h.One<RefuseJoin>().message, HasSubstr("running twice"));
  h.Join(9);
  EXPECT_THAT(h.One<RefuseJoin>().message, HasSubstr("max_learners"));
  EXPECT_EQ(h.controller().StateHash(), before);
}

TEST(ControllerMembers, ARepeatedJoinIsAcceptedAgainAndChangesNothing) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  uint64_t before = h.controller().StateHash();
  h.Join(1);
  EXPECT_EQ(h.Count<AcceptJoin>(), 1u);
  EXPECT_EQ(h.actions().size(), 1u);
  EXPECT_EQ(h.controller().StateHash(), before);
}

TEST(ControllerMembers, MessagesOfAnOldLifeChangeNothing) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Join(0, kSecondLife);
  uint64_t before = h.controller().StateHash();
  h.Send(LearnerLost{LearnerId(0), kFirstLife});
  h.Send(LearnerReturned{LearnerId(0), kFirstLife});
  h.Send(LearnerLeft{LearnerId(0), kFirstLife});
  EXPECT_THAT(h.actions(), IsEmpty());
  EXPECT_EQ(h.controller().StateHash(), before);
}

class LeaseTest : public testing::Test {
 protected:
  static Settings With(LeaseEnd lease_end) {
    Settings settings = SettingsFor("async-fedavg", 2);
    settings.membership.lease_end = lease_end;
    settings.membership.lease = Duration::Minutes(3);
    return settings;
  }
  // Both have contributed; learner 1 is lost.
  static void Prepare(Harness& h) {
    h.JoinAll();
    h.Update(0, 1, 1);
    h.Update(1, 1, 3);
    h.Lose(1);
    ASSERT_EQ(h.One<StartTimer>().due, h.now() + Duration::Minutes(3));
  }
};

TEST_F(LeaseTest, ALostLearnersModelStaysIfSoSet) {
  Harness h(With(LeaseEnd::kKeep));
  Prepare(h);
  h.Fire(TimerId::Kind::kLease, 1);
  EXPECT_THAT(h.actions(), IsEmpty());
  EXPECT_EQ(h.controller().aggregator().total_contribution(), 77);
}

TEST_F(LeaseTest, ALostLearnersModelIsWithdrawnIfSoSet) {
  Harness h(With(LeaseEnd::kWithdraw));
  Prepare(h);
  EXPECT_EQ(h.controller().aggregator().total_contribution(), 77);  // until then it stays
  h.Fire(TimerId::Kind::kLease, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().withdrawn, LearnerId(1));
  EXPECT_EQ(Values(h.controller().community()), Values(h.models().From(1)));
}

TEST_F(LeaseTest, AReturnEndsTheLease) {
  Harness h(With(LeaseEnd::kWithdraw));
  Prepare(h);
  h.Return(1);
  h.Fire(TimerId::Kind::kLease, 1);
  EXPECT_THAT(h.actions(), IsEmpty());
  // A second loss starts a lease of its own; the first one's timer says nothing about it.
  h.Lose(1);
  h.Send(TimerFired{{TimerId::Kind::kLease, 1}});
  EXPECT_THAT(h.actions(), IsEmpty());
  h.Fire(TimerId::Kind::kLease, 1);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 1u);
}

TEST_F(LeaseTest, AnUpdateThatIsCommittedAfterItsLearnersLeaseHasOneOfItsOwn) {
  Harness h(With(LeaseEnd::kWithdraw));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Command(OperatorCommand::Kind::kPause);
  h.Update(1, 1, 3);
  h.Lose(1);
  h.Fire(TimerId::Kind::kLease, 1);  // there is nothing to withdraw yet
  EXPECT_THAT(h.actions(), IsEmpty());
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 1u);
  EXPECT_EQ(h.One<StartTimer>().due, h.now() + Duration::Minutes(3));
  h.Fire(TimerId::Kind::kLease, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().withdrawn, LearnerId(1));
}

TEST_F(LeaseTest, WhoeverLeavesHasNoLease) {
  Harness h(With(LeaseEnd::kWithdraw));
  Prepare(h);
  h.Leave(1);
  h.Fire(TimerId::Kind::kLease, 1);
  EXPECT_THAT(h.actions(), IsEmpty());
  EXPECT_EQ(h.controller().aggregator().total_contribution(), 77);
}

TEST(ControllerMembers, WithoutAQuorumTheFederationPauses) {
  Settings settings = SettingsFor("async-fedavg", 3);
  settings.membership.quorum = 2;
  Harness h(settings);
  h.JoinAll();
  h.Lose(0);
  EXPECT_EQ(h.controller().phase(), Phase::kRunning);
  h.Leave(1);
  EXPECT_EQ(h.One<StateChanged>().phase, Phase::kPaused);
  EXPECT_THAT(h.controller().phase_reason(), HasSubstr("1 live learners, 2 needed"));
  h.Update(2, 1, 5);
  EXPECT_EQ(h.Count<AcknowledgeUpdate>(), 1u);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Return(0);
  EXPECT_EQ(h.One<StateChanged>().phase, Phase::kRunning);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].id, h.IdOf(2, 1));
}

TEST(ControllerMembers, TheOperatorPausesAndResumes) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Command(OperatorCommand::Kind::kPause);
  EXPECT_EQ(h.One<StateChanged>().phase, Phase::kPaused);
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  EXPECT_EQ(h.controller().version(), Version(0));
  h.Command(OperatorCommand::Kind::kPause);  // twice is once
  EXPECT_THAT(h.actions(), IsEmpty());
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 2u);
  EXPECT_EQ(h.controller().phase(), Phase::kRunning);
}

TEST(ControllerMembers, ThePauseNamesTheOperatorAndThenTheQuorum) {
  Settings settings = SettingsFor("async-fedavg", 2);
  settings.membership.quorum = 2;
  Harness h(settings);
  h.JoinAll();
  h.Command(OperatorCommand::Kind::kPause);
  EXPECT_THAT(h.controller().phase_reason(), HasSubstr("operator"));
  h.Lose(0);
  EXPECT_THAT(h.controller().phase_reason(), HasSubstr("operator"));
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.controller().phase(), Phase::kPaused);
  EXPECT_THAT(h.controller().phase_reason(), HasSubstr("quorum"));
}

TEST(ControllerMembers, APauseBeforeTheStartHoldsTheStart) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.Command(OperatorCommand::Kind::kPause);
  h.Join(0);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.Count<SendCommunity>(), 1u);
}

TEST(ControllerMembers, AnObserverNeitherTrainsNorVotesNorCountsForTheQuorum) {
  Harness h(SettingsFor("sync-dvw", 2));
  h.Join(0);
  h.JoinObserver(9);
  EXPECT_EQ(h.controller().phase(), Phase::kWaiting);
  h.Join(1);
  EXPECT_EQ(h.Count<SendCommunity>(), 2u);
  h.Update(9, 1, 3);
  EXPECT_EQ(h.Count<RejectUpdate>(), 1u);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.Count<RequestEvaluation>(), 1u);
}

TEST(ControllerMembers, AnObserverTestsTheInitialModelAndEveryFewCommits) {
  Settings settings = SettingsFor("async-fedavg", 1);
  settings.test.every_commits = 2;
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  EXPECT_EQ(h.One<RequestTest>().version, Version(0));
  EXPECT_EQ(h.One<RequestTest>().model, h.initial());
  h.Update(0, 1, 1);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
  h.Update(0, 2, 2);
  EXPECT_EQ(h.One<RequestTest>().version, Version(2));
  h.Test(9, 2, 30);
  h.Test(9, 0, 20);  // in any order
  h.Test(9, 2, 99);  // repeated: ignored
  h.Test(9, 1, 99);  // was not asked for
  EXPECT_EQ(h.controller().tests().tests(), 2u);
  EXPECT_EQ(h.controller().tests().best_accuracy(), 0.3);
  EXPECT_EQ(h.controller().tests().best_version(), Version(2));
}

// Of those that an observer has no time for, only the latest is tested.
TEST(ControllerMembers, AnObserverSlowerThanTheCommitsIsAskedForTheLatestAsItAnswers) {
  Settings settings = SettingsFor("async-fedavg", 1);
  settings.test.every_commits = 1;
  settings.stop.target_accuracy = 0.9;
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) {
    h.Update(0, sequence, static_cast<float>(sequence));
    EXPECT_EQ(h.Count<RequestTest>(), sequence == 1 ? 1u : 0u);
  }
  h.Test(9, 0, 20);
  EXPECT_EQ(h.controller().tests().tests(), 1u);
  EXPECT_EQ(h.One<RequestTest>().version, Version(4));
  h.Update(0, 5, 5);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
  h.Test(9, 1, 30);
  EXPECT_EQ(h.One<RequestTest>().version, Version(5));
  h.Test(9, 4, 90);
  EXPECT_EQ(h.controller().tests().tests(), 3u);
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kTargetAccuracy);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);  // the final model's is under way
  h.Test(9, 5, 95);
  EXPECT_EQ(h.controller().tests().latest_accuracy(), 0.95);
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(9));
}

TEST(ControllerMembers, TheFinalModelIsTestedAlsoByAnObserverThatIsBehind) {
  Settings settings = SettingsFor("async-fedavg", 1);
  settings.test.every_commits = 1;
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(0, 2, 2);
  h.Command(OperatorCommand::Kind::kStop);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
  h.Test(9, 0, 20);
  EXPECT_EQ(h.One<RequestTest>().version, Version(2));
  h.Test(9, 1, 30);
  EXPECT_EQ(h.Count<Dismiss>(), 0u);
  h.Test(9, 2, 40);
  EXPECT_EQ(h.controller().tests().latest_accuracy(), 0.4);
  EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(9));
}

TEST(ControllerMembers, TestsFollowTheClockIfSoSet) {
  Settings settings = SettingsFor("async-fedavg", 1);
  settings.test.every = Duration::Seconds(7);
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  h.Fire(TimerId::Kind::kTest);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);  // the same version again
  EXPECT_EQ(h.One<StartTimer>().due, h.now() + Duration::Seconds(7));
  h.Update(0, 1, 1);
  h.Fire(TimerId::Kind::kTest);
  EXPECT_EQ(h.One<RequestTest>().version, Version(1));
}

TEST(ControllerMembers, ForgedTestCountsAreRefused) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(9);
  h.JoinAll();
  h.Send(CommunityTested{.observer = LearnerId(9),
                         .incarnation = kFirstLife,
                         .version = Version(0),
                         .counts = CountsOf({61, 40}, 101)});
  EXPECT_THAT(h.One<RefuseCounts>().message, HasSubstr("observer 9"));
  EXPECT_EQ(h.controller().tests().tests(), 0u);
}

TEST(ControllerMembers, AnObserverThatComesBackIsAskedAgain) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(9);
  h.JoinAll();
  h.Lose(9);
  h.Return(9);
  EXPECT_EQ(h.One<RequestTest>().version, Version(0));
  h.JoinObserver(9, kSecondLife);
  EXPECT_EQ(h.One<RequestTest>().incarnation, kSecondLife);
  h.Test(9, 0, 20);
  h.Lose(9);
  h.Return(9);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
}

TEST(ControllerMembers, ASecondObserverThatComesAndGoesMakesNobodyTestAgain) {
  Harness h(SettingsFor("async-fedavg", 1));
  h.JoinObserver(8);
  h.JoinAll();
  h.JoinObserver(9);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
  h.Lose(9);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
  h.Return(9);
  h.Leave(9);
  EXPECT_EQ(h.Count<RequestTest>(), 0u);
}

TEST(ControllerMembers, AnotherObserverTakesOverTheTestsOfOneThatIsGone) {
  for (const bool left : {false, true}) {
    Settings settings = SettingsFor("async-fedavg", 1);
    settings.test.every_commits = 1;
    Harness h(settings);
    h.JoinObserver(8);
    h.JoinAll();
    h.Update(0, 1, 1);
    h.JoinObserver(9);  // while the first one still counts as live
    h.Update(0, 2, 2);
    left ? h.Leave(8) : h.Lose(8);
    ASSERT_EQ(h.Count<RequestTest>(), 2u);
    for (const RequestTest& request : h.All<RequestTest>()) {
      EXPECT_EQ(request.observer, LearnerId(9));
    }
    h.Test(9, 0, 20);
    EXPECT_EQ(h.One<RequestTest>().version, Version(2)) << "which was due all the time";
    h.Test(9, 1, 30);
    h.Command(OperatorCommand::Kind::kStop);
    h.Test(9, 2, 40);
    EXPECT_EQ(h.One<Dismiss>().learner, LearnerId(9));
  }
}

TEST(ControllerMembers, ALostLearnerThatRepeatsItsPendingUpdateIsBack) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Lose(0);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, h.IdOf(0, 1));
  EXPECT_TRUE(h.controller().membership().Find(LearnerId(0))->live());
  h.Answer(1, h.IdOf(0, 1), 3);
  EXPECT_EQ(h.Receivers(), std::vector<uint32_t>{0});
}

}  // namespace
}  // namespace metis::federation
