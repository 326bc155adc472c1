// Coming and going during a round: arrivals, new lives, returns, withdrawals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Settings StartingWith(uint32_t learners, const char* late = "refuse") {
  Settings settings = SettingsFor("sync-fedavg", learners);
  policy::Set(settings, "sync.late_updates", late);
  return settings;
}

TEST(SyncRounds, ALearnerThatArrivesTakesPartInTheRound) {
  Harness h(StartingWith(2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Join(5);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(0));
  EXPECT_FALSE(h.One<SendCommunity>().restart);
  h.Update(1, 1, 2);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(5, 1, 3);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
}

TEST(SyncRounds, ANewLifeDuringItsTrainingStartsTheRoundAgain) {
  Harness h(StartingWith(2));
  h.JoinAll();
  UpdateReceived of_old_life = h.Updating(1, 1, 77);
  h.Update(0, 1, 1);
  h.Join(1, kSecondLife);
  EXPECT_EQ(h.One<SendCommunity>().incarnation, kSecondLife);
  h.Send(of_old_life);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kStaleIncarnation);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(1, 1, 2);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncRounds, ANewLifeAfterItsReportWaitsForTheNextRound) {
  Harness h(StartingWith(2));
  h.JoinAll();
  h.Update(1, 1, 2);
  h.Join(1, kSecondLife);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Ask(1, 0);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
  ASSERT_THAT(h.Receivers(), ElementsAre(0, 1));
  SendCommunity to_new_life = h.All<SendCommunity>()[1];
  EXPECT_EQ(to_new_life.incarnation, kSecondLife);
  EXPECT_EQ(to_new_life.answers, Sequence(0));
}

// The scale of contributions must cover what was reported, not only what is declared now.
TEST(SyncRounds, ANewLifeWithFewerExamplesDoesNotSpoilTheRound) {
  Harness h(StartingWith(2));
  LearnerJoined large = h.Joining(0);
  large.training_examples = 5000;
  h.Send(large);
  h.Join(1);
  h.Update(0, 1, 1);
  LearnerJoined small = h.Joining(0, kSecondLife);
  small.training_examples = 7;
  h.Send(small);
  h.Update(1, 1, 2);
  EXPECT_THAT(h.All<RejectUpdate>(), IsEmpty());
  auto note = h.One<CommunityCommitted>();
  EXPECT_EQ(note.total_contribution, 5000 + 47);
}

// Restored from a copy in whose round learner 0 has reported: it has gone on since, and must take
// an older model than its own for the next beginning.
TEST(SyncRounds, AReportedLearnerThatIsAheadOfItsControllerHasAnUnknownBase) {
  for (const char* late : {"refuse", "keep"}) {
    Settings settings = StartingWith(2);
    policy::Set(settings, "sync.late_updates", late);
    Harness h(settings);
    h.Join(0);
    h.Join(1);
    h.Update(0, 1, 1);
    UpdateReceived ahead = h.Updating(0, 4, 2);
    ahead.base = Version(3);
    h.Send(ahead);
    EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kUnknownBase);
    h.Update(1, 1, 2);
    EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
    EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));
  }
}

TEST(SyncRounds, ABadSecondUpdateDoesNotCloseTheRoundOverTheFirst) {
  Harness h(SettingsFor("sync-dvw", 3));
  h.JoinAll();
  for (uint32_t learner : {1u, 2u, 0u}) h.Update(learner, 1, static_cast<float>(learner));
  for (uint32_t of : {1u, 2u}) {
    for (uint32_t evaluator : {0u, 1u, 2u}) {
      if (evaluator != of) h.Answer(evaluator, h.IdOf(of, 1), 3);
    }
  }
  h.Answer(1, h.IdOf(0, 1), 3);
  h.Update(0, 2, 1e30f);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u) << "the first one is still evaluated";
  h.Answer(2, h.IdOf(0, 1), 3);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
}

TEST(SyncRounds, WhoHasReportedIsNotWaitedForAgainBecauseOfABadSecondUpdate) {
  for (const Incarnation life : {kFirstLife, kSecondLife}) {
    Settings settings = StartingWith(2);
    settings.membership.quorum = 2;
    Harness h(settings);
    h.JoinAll();
    h.Update(0, 1, 1);
    if (life == kSecondLife) h.Join(0, life);
    h.Update(0, 2, 1e30f);
    EXPECT_EQ(h.One<RejectUpdate>().id.incarnation, life);
    EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate);
    h.Update(1, 1, 1e30f);
    h.Update(1, 2, 2);
    EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u) << life.value();
    EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));
  }
}

TEST(SyncRounds, AnUpdateThatWaitedThroughAPauseCountsByTheExamplesOfItsOwnLife) {
  Harness h(StartingWith(2));
  h.Join(0);
  h.Join(1);
  h.Command(OperatorCommand::Kind::kPause);
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  LearnerJoined larger = h.Joining(0, kSecondLife);
  larger.training_examples = 5000;
  h.Send(larger);
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.One<CommunityCommitted>().total_contribution, 30 + 47);
}

TEST(SyncRounds, ARefusedLearnerIsTakenBackInANewLife) {
  Harness h(StartingWith(3));
  h.JoinAll();
  h.Update(1, 1, 1e30f);
  h.Join(1, kSecondLife);
  EXPECT_EQ(h.Receivers(), std::vector<uint32_t>{1});
  h.Update(0, 1, 1);
  h.Update(2, 1, 2);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(1, 1, 3);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
}

TEST(SyncRounds, ALearnerBackInTheSameRoundGoesOnTraining) {
  Harness h(StartingWith(2));
  h.JoinAll();
  h.Lose(1);
  h.Return(1);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);  // it is waited for again
  h.Update(1, 1, 2);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncRounds, ALearnerBackInALaterRoundRestartsFromItsModel) {
  Harness h(StartingWith(2));
  h.JoinAll();
  h.Lose(1);
  h.Update(0, 1, 1);
  h.Return(1);
  auto sent = h.One<SendCommunity>();
  EXPECT_TRUE(sent.restart);
  EXPECT_EQ(sent.version, Version(1));
}

TEST(SyncRounds, ALearnerBackInALaterRoundIsLeftToFinishWhereLateUpdatesAreKept) {
  Harness h(StartingWith(2, "keep"));
  h.JoinAll();
  UpdateReceived late = h.Updating(1, 1, 5);
  h.Lose(1);
  h.Update(0, 1, 1);
  h.Return(1);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Update(0, 2, 1);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Send(late);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncRounds, AnUpdateBringsALostLearnerBack) {
  Harness h(StartingWith(3));
  h.JoinAll();
  h.Lose(1);
  h.Update(1, 1, 2);
  EXPECT_EQ(h.Count<AcknowledgeUpdate>(), 1u);
  EXPECT_TRUE(std::as_const(h.controller()).membership().Find(LearnerId(1))->live());
  h.Update(0, 1, 1);
  h.Update(2, 1, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
}

TEST(SyncRounds, ALearnerWhoseModelGotLostAsksAgain) {
  Harness h(StartingWith(2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Ask(0, 1);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);  // its round is not over
  h.Update(1, 1, 2);
  h.Ask(0, 1);
  EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(1));
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
}

TEST(SyncRounds, AWithdrawalIsNoRound) {
  Settings settings = StartingWith(2);
  settings.stop.rounds = 2;
  Harness h(settings);
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  h.Command(OperatorCommand::Kind::kWithdraw, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().withdrawn, LearnerId(1));
  EXPECT_EQ(Values(h.controller().community()), Values(h.models().From(1)));
  EXPECT_EQ(h.controller().phase(), Phase::kRunning);
  h.Update(0, 2, 1);
  h.Update(1, 2, 2);
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kRounds);
  EXPECT_EQ(h.One<Finished>().version, Version(3));
}

TEST(SyncRounds, WithoutTheModelsOfFinishedOnesTheBitsAreTheSameAndNobodyIsWithdrawn) {
  Settings lean_settings = StartingWith(2);
  lean_settings.keep_models = false;
  MemoryModelStore store;
  Harness lean(lean_settings, &store);
  Harness full(StartingWith(2));
  for (Harness* each : {&lean, &full}) {
    each->JoinAll();
    for (uint64_t round : {1u, 2u, 3u}) {
      each->Update(1, round, static_cast<float>(round) + 0.3f);
      each->Update(0, round, static_cast<float>(round) - 0.7f);
      EXPECT_EQ(each->One<CommunityCommitted>().version, Version(round));
    }
  }
  EXPECT_EQ(Values(lean.controller().community()), Values(full.controller().community()));
  EXPECT_EQ(lean.controller().aggregator().contribution(LearnerId(1)),
            full.controller().aggregator().contribution(LearnerId(1)));
  EXPECT_FALSE(store.Get(LearnerId(0)).ok());

  const uint64_t before = lean.controller().StateHash();
  lean.Command(OperatorCommand::Kind::kWithdraw, 1);
  EXPECT_THAT(lean.One<StateChanged>().reason, HasSubstr("storage.memory_mb"));
  EXPECT_EQ(lean.Count<CommunityCommitted>(), 0u);
  EXPECT_EQ(lean.controller().StateHash(), before);
}

TEST(SyncRounds, QuorumPausesAndTheRoundClosesWhenItIsBack) {
  Settings settings = StartingWith(3);
  settings.membership.quorum = 2;
  Harness h(settings);
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Lose(0);
  h.Lose(1);
  EXPECT_EQ(h.One<StateChanged>().phase, Phase::kPaused);
  h.Update(2, 1, 2);
  EXPECT_EQ(h.Count<AcknowledgeUpdate>(), 1u);  // taken, though not committed yet
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Return(0);
  EXPECT_EQ(h.One<StateChanged>().phase, Phase::kRunning);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

}  // namespace
}  // namespace metis::federation
