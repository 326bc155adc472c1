#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;

TEST(AsyncProtocol, EveryUpdateRenewsTheCommunityAndAnswersItsLearnerOnly) {
  Harness h(SettingsFor("async-fedavg", 3));
  h.JoinAll();
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1, 2));
  EXPECT_EQ(h.One<StateChanged>().phase, Phase::kRunning);
  h.Update(1, 1, 4);
  EXPECT_EQ(Values(h.controller().community()), Values(h.models().From(4)));
  h.Update(2, 1, 1);
  EXPECT_THAT(h.Receivers(), ElementsAre(2));
  auto sent = h.One<SendCommunity>();
  EXPECT_EQ(sent.version, Version(2));
  EXPECT_EQ(sent.answers, Sequence(1));
  EXPECT_FALSE(sent.restart);
  EXPECT_FLOAT_EQ(sent.model->parameters()[0], (47.0f * 4 + 64 * 1) / 111);
  h.Update(1, 2, -2);
  EXPECT_FLOAT_EQ(h.controller().community()->parameters()[0], (47.0f * -2 + 64 * 1) / 111);
  EXPECT_EQ(h.controller().aggregator().total_contribution(), 111);
  EXPECT_EQ(h.controller().statistics().models_exchanged, 6u);
}

TEST(AsyncProtocol, ALargerTrainingSetRaisesTheScaleWithoutChangingTheMean) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  LearnerJoined large = h.Joining(6);
  large.training_examples = 100'000;
  h.Send(large);
  h.Update(6, 1, 0);
  EXPECT_EQ(h.controller().aggregator().contribution(LearnerId(1)), 47);
  EXPECT_EQ(h.controller().aggregator().total_contribution(), 100'077);
  EXPECT_EQ(Values(h.controller().community()), Values(*h.controller().aggregator().Recompute()));
}

TEST(AsyncProtocol, CommitsFollowArrivalThoughEvaluationsEndInAnotherOrder) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(2, 1, 1);
  h.Update(0, 1, 2);
  h.Update(1, 1, 3);
  // The last to arrive is evaluated first.
  h.Answer(0, h.IdOf(1, 1), 3);
  h.Answer(2, h.IdOf(1, 1), 4);
  h.Answer(1, h.IdOf(0, 1), 3);
  h.Answer(2, h.IdOf(0, 1), 5);
  h.Answer(0, h.IdOf(2, 1), 2);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  EXPECT_THAT(h.controller().Pending(), ElementsAre(h.IdOf(2, 1), h.IdOf(0, 1), h.IdOf(1, 1)));
  h.Answer(1, h.IdOf(2, 1), 2);
  std::vector<CommunityCommitted> notes = h.All<CommunityCommitted>();
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0].updates[0].id, h.IdOf(2, 1));
  EXPECT_EQ(notes[1].updates[0].id, h.IdOf(0, 1));
  EXPECT_EQ(notes[2].updates[0].id, h.IdOf(1, 1));
  EXPECT_EQ(notes[2].version, Version(3));
  EXPECT_THAT(h.Receivers(), ElementsAre(2, 0, 1));
}

TEST(AsyncProtocol, DvwCommitsWithThePooledMicroF1) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(1, 1, 4);              // 1 of 8 of its own
  h.Answer(0, h.IdOf(1, 1), 4);   // of 5
  h.Answer(2, h.IdOf(1, 1), 10);  // of 11
  auto note = h.One<CommunityCommitted>();
  EXPECT_EQ(note.updates[0].contribution, 15.0 / 24);
  EXPECT_EQ(note.updates[0].coverage, 1);
  EXPECT_FALSE(note.updates[0].kept_previous);
}

TEST(AsyncProtocol, ANewLifeIsAnsweredOnJoiningAndNotForItsPredecessorsUpdate) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  h.Update(1, 1, 4);
  UpdateId of_old_life = h.IdOf(1, 1);
  h.Join(1, kSecondLife);
  EXPECT_EQ(h.One<SendCommunity>().incarnation, kSecondLife);
  h.Answer(0, of_old_life, 4);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].id, of_old_life);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  // Its own first update is new, though its sequence number is not.
  h.Update(1, 1, 5);
  EXPECT_EQ(h.Count<AcknowledgeUpdate>(), 1u);
  h.Answer(0, h.IdOf(1, 1), 4);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].id.incarnation, kSecondLife);
}

TEST(AsyncProtocol, ALostLearnersAcknowledgedUpdateIsCommitted) {
  Harness h(SettingsFor("async-dvw", 3));
  h.JoinAll();
  h.Update(1, 1, 4);
  h.Answer(0, h.IdOf(1, 1), 4);
  h.Lose(1);
  h.Answer(2, h.IdOf(1, 1), 4);
  EXPECT_EQ(h.One<CommunityCommitted>().updates[0].id, h.IdOf(1, 1));
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Return(1);
  h.Ask(1, 1);
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
  EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(1));
}

TEST(AsyncProtocol, AWithdrawnLearnerLeavesTheOthersMean) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 3);
  h.Command(OperatorCommand::Kind::kWithdraw, 0);
  auto note = h.One<CommunityCommitted>();
  EXPECT_EQ(note.withdrawn, LearnerId(0));
  EXPECT_EQ(note.version, Version(3));
  EXPECT_EQ(Values(note.model), Values(h.models().From(3)));
  h.Command(OperatorCommand::Kind::kWithdraw, 0);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  EXPECT_EQ(h.Count<StateChanged>(), 1u);  // says that it has no model there
  h.Update(0, 2, 1);                       // and may come back
  EXPECT_EQ(h.controller().aggregator().total_contribution(), 77);
}

TEST(AsyncProtocol, AnUpdateThatWaitedThroughAPauseCountsByTheExamplesOfItsOwnLife) {
  Harness h(SettingsFor("async-fedavg", 1));
  LearnerJoined large = h.Joining(0);
  large.training_examples = 5000;
  h.Send(large);
  h.Command(OperatorCommand::Kind::kPause);
  h.Update(0, 1, 1);
  LearnerJoined small = h.Joining(0, kSecondLife);
  small.training_examples = 7;
  h.Send(small);
  h.Command(OperatorCommand::Kind::kResume);
  EXPECT_EQ(h.One<CommunityCommitted>().total_contribution, 5000) << "beyond what 7 needs";
  h.Update(0, 1, 2);
  EXPECT_EQ(h.One<CommunityCommitted>().total_contribution, 7);
}

TEST(AsyncProtocol, ALearnerHasOneUpdateAtATime) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  const UpdateReceived second = h.Updating(0, 2, 5);
  for (int times = 0; times < 2; ++times) {
    h.Send(second);
    EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kLate);
    EXPECT_EQ(h.One<RejectUpdate>().id, second.id);
    EXPECT_EQ(h.Count<RequestEvaluation>() + h.Count<SendCommunity>(), 0u);
    EXPECT_THAT(h.controller().Pending(), testing::ElementsAre(h.IdOf(0, 1)));
  }
  h.Update(0, 3, 1e30f);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate) << "that is named all the same";
  h.Update(0, 4, 5);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kLate) << "and opens no way in";
  h.Update(0, 1, 1);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, h.IdOf(0, 1)) << "its verdict stands";
  h.Ask(0, 1);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u) << "and is still to come";
  h.Answer(1, h.IdOf(0, 1), 3);
  EXPECT_EQ(h.Receivers(), std::vector<uint32_t>{0});
  h.Update(0, 4, 5);
  EXPECT_EQ(h.One<AcknowledgeUpdate>().id, h.IdOf(0, 4));
}

TEST(AsyncProtocol, AStoreThatFailsRefusesTheUpdateByName) {
  FlakyStore store;
  Harness h(SettingsFor("async-fedavg", 2), &store);
  h.JoinAll();
  store.FailAfter(0);
  h.Update(0, 1, 1);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kStorage);
  EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(1));
  EXPECT_EQ(h.controller().version(), Version(0));
  store.Heal();
  h.Update(0, 2, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().version, Version(1));
}

// The raise is not undone, and a version must never have two sets of bits.
TEST(AsyncProtocol, AScaleThatWasRaisedForARefusedUpdateIsAVersionOfItsOwn) {
  FlakyStore store;
  Harness h(SettingsFor("async-fedavg", 2), &store);
  h.JoinAll();
  h.Update(0, 1, 1.1f);
  h.Update(1, 1, 2.3f);
  LearnerJoined large = h.Joining(6);
  large.training_examples = 100'000;
  h.Send(large);
  store.FailAfter(0);
  h.Update(6, 1, 0.7f);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kStorage);
  auto note = h.One<CommunityCommitted>();
  EXPECT_EQ(note.version, Version(3));
  EXPECT_TRUE(note.updates.empty());
  EXPECT_EQ(note.model, h.controller().community());
  auto sent = h.One<SendCommunity>();
  EXPECT_EQ(sent.version, note.version);
  EXPECT_EQ(sent.model, note.model);
  EXPECT_EQ(h.controller().statistics().requests, 2u);
}

TEST(AsyncProtocol, AnEarlierLifesUpdateThatCannotBeStoredIsRefusedByNameToo) {
  FlakyStore store;
  Harness h(SettingsFor("async-dvw", 2), &store);
  h.JoinAll();
  h.Update(1, 1, 4);
  UpdateId of_old_life = h.IdOf(1, 1);
  h.Join(1, kSecondLife);
  store.FailAfter(0);
  h.Answer(0, of_old_life, 4);
  EXPECT_EQ(h.One<RejectUpdate>().id, of_old_life);
  EXPECT_TRUE(h.controller().Pending().empty());
}

}  // namespace
}  // namespace metis::federation
