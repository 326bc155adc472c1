// Rounds: what they compute, when they close, what is late. Coming and
// going: synchronous_rounds_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kDeadline = Duration::Seconds(50);

Settings WithDeadline(uint32_t learners, const char* late = "refuse") {
  Settings settings = SettingsFor("sync-fedavg", learners);
  policy::Set(settings, "sync.round_deadline", kDeadline);
  policy::Set(settings, "sync.late_updates", late);
  return settings;
}

TEST(SyncProtocol, FedAvgIsTheMeanWeightedByTrainingExamples) {
  Harness h(SettingsFor("sync-fedavg", 3));
  h.JoinAll();
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1, 2));
  h.Update(2, 1, 4);
  h.Update(0, 1, -1);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(1, 1, 0.5f);
  auto note = h.One<CommunityCommitted>();
  ASSERT_EQ(note.updates.size(), 3u);
  EXPECT_EQ(note.version, Version(1));
  EXPECT_EQ(note.total_contribution, 30 + 47 + 64);
  double mean = (30 * -1.0 + 47 * 0.5 + 64 * 4.0) / (30 + 47 + 64);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_FLOAT_EQ(note.model->parameters()[i],
                    static_cast<float>(mean + 0.25 * static_cast<double>(i)));
  }
  EXPECT_EQ(Values(note.model), Values(*h.controller().aggregator().Recompute()));
}

TEST(SyncProtocol, EverybodyStartsTheNextRoundFromTheNewModel) {
  Harness h(SettingsFor("sync-fedavg", 3));
  h.JoinAll();
  for (uint64_t round : {1u, 2u, 3u}) {
    for (uint32_t k = 0; k < 3; ++k) h.Update(k, round, static_cast<float>(k) + 0.5f);
    EXPECT_THAT(h.Receivers(), ElementsAre(0, 1, 2));
    for (const SendCommunity& sent : h.All<SendCommunity>()) {
      EXPECT_TRUE(sent.restart);
      EXPECT_EQ(sent.version, Version(round));
      EXPECT_EQ(sent.answers, Sequence(round));
      EXPECT_EQ(sent.model, h.controller().community());
    }
  }
  EXPECT_EQ(h.controller().statistics().commits, 3u);
  EXPECT_EQ(h.controller().statistics().requests, 9u);
  EXPECT_EQ(h.controller().statistics().models_exchanged, 18u);
}

TEST(SyncProtocol, RoundClosesWhenTheLastMissingLearnerLeaves) {
  Harness h(SettingsFor("sync-fedavg", 3));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  h.Leave(2);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));
}

TEST(SyncProtocol, RoundClosesWhenTheLastMissingLearnerIsLost) {
  Harness h(SettingsFor("sync-fedavg", 3));
  h.JoinAll();
  h.Update(1, 1, 1);
  h.Update(2, 1, 2);
  h.Lose(0);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
  EXPECT_THAT(h.Receivers(), ElementsAre(1, 2));
}

TEST(SyncProtocol, ALearnerThatReportedAndLeftStillCounts) {
  Harness h(SettingsFor("sync-fedavg", 3));
  h.JoinAll();
  h.Update(2, 1, 9);
  h.Leave(2);
  h.Update(0, 1, 1);
  h.Update(1, 1, 1);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));
}

TEST(SyncProtocol, DeadlineClosesTheRoundWithWhoeverReported) {
  Harness h(WithDeadline(3));
  h.JoinAll();
  EXPECT_EQ(h.One<StartTimer>().due, h.now() + kDeadline);
  h.Update(1, 1, 3);
  h.Fire(TimerId::Kind::kRound, 1);
  auto note = h.One<CommunityCommitted>();
  ASSERT_EQ(note.updates.size(), 1u);
  EXPECT_EQ(Values(note.model), Values(h.models().From(3)));
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1, 2));
  EXPECT_EQ(h.One<StartTimer>().timer.subject, 2u);
}

TEST(SyncProtocol, ADeadlineOfAnEarlierRoundIsStale) {
  Harness h(WithDeadline(2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  h.Update(0, 2, 1);
  h.Fire(TimerId::Kind::kRound, 1);
  EXPECT_THAT(h.actions(), IsEmpty());
}

TEST(SyncProtocol, AfterTheDeadlineTheRoundClosesAsSoonAsThereIsAQuorum) {
  Settings settings = WithDeadline(4);
  settings.membership.quorum = 2;
  Harness h(settings);
  h.JoinAll();
  h.Update(3, 1, 3);
  h.Fire(TimerId::Kind::kRound, 1);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(1, 1, 5);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncProtocol, ALateUpdateIsRefusedAndItsLearnerRestarts) {
  Harness h(WithDeadline(3));
  h.JoinAll();
  UpdateReceived late = h.Updating(2, 1, 100);
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  h.Fire(TimerId::Kind::kRound, 1);
  h.Send(late);
  auto rejected = h.One<RejectUpdate>();
  EXPECT_EQ(rejected.reason, RejectReason::kLate);
  EXPECT_THAT(rejected.message, HasSubstr("version 0"));
  EXPECT_EQ(h.One<SendCommunity>().version, Version(1));
  EXPECT_EQ(h.One<SendCommunity>().answers, Sequence(1));
  // The round still waits for it.
  h.Update(0, 2, 1);
  h.Update(1, 2, 2);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(2, 2, 3);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 3u);
}

TEST(SyncProtocol, ALateUpdateIsKeptForTheRoundItReaches) {
  Harness h(WithDeadline(3, "keep"));
  h.JoinAll();
  UpdateReceived late = h.Updating(2, 1, 100, 33);
  h.Update(0, 1, 1);
  h.Update(1, 1, 2, 5);
  h.Fire(TimerId::Kind::kRound, 1);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));  // learner 2 is left to finish
  h.Send(late);
  EXPECT_EQ(h.Count<RejectUpdate>(), 0u);
  h.Update(0, 2, 1);
  h.Update(1, 2, 2);
  auto note = h.One<CommunityCommitted>();
  ASSERT_EQ(note.updates.size(), 3u);
  EXPECT_EQ(note.updates[2].version_staleness, 1u);
  EXPECT_EQ(note.updates[2].staleness, 10u + 5u + 33u);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1, 2));
}

TEST(SyncProtocol, ASecondUpdateInTheSameRoundIsRefused) {
  Harness h(SettingsFor("sync-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(0, 2, 50);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kLate);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);
  h.Update(1, 1, 2);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncProtocol, ARefusedLearnerDoesNotHoldTheRound) {
  Harness h(SettingsFor("sync-fedavg", 3));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(2, 1, 2);
  h.Update(1, 1, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1, 2));
}

TEST(SyncProtocol, WhenAllAreRefusedTheyMayTryAgain) {
  Harness h(SettingsFor("sync-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 1e30f);
  h.Ask(0, 1);
  EXPECT_EQ(h.Count<SendCommunity>(), 0u);  // learner 1 may still report
  h.Update(1, 1, 1e30f);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  for (uint32_t k : {0u, 1u}) {
    h.Ask(k, 1);
    EXPECT_EQ(h.One<SendCommunity>().version, Version(0));
    h.Update(k, 2, 4);
  }
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncProtocol, WithTooFewReportsTheRefusedMayTryAgain) {
  Settings settings = SettingsFor("sync-fedavg", 3);
  settings.membership.quorum = 2;
  Harness h(settings);
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 1e30f);
  h.Lose(2);
  h.Ask(1, 1);
  EXPECT_EQ(h.Receivers(), std::vector<uint32_t>{1});
  h.Update(1, 2, 4);
  EXPECT_EQ(h.One<CommunityCommitted>().updates.size(), 2u);
}

TEST(SyncProtocol, AStoreThatFailsRefusesTheRoundsUpdatesAndItIsTriedAgain) {
  FlakyStore store;
  Harness h(SettingsFor("sync-fedavg", 2), &store);
  h.JoinAll();
  store.FailAfter(0);
  h.Update(0, 1, 1);
  h.Update(1, 1, 2);
  ASSERT_EQ(h.Count<RejectUpdate>(), 2u);
  EXPECT_EQ(h.All<RejectUpdate>()[0].reason, RejectReason::kStorage);
  EXPECT_THAT(h.Receivers(), ElementsAre(0, 1));
  EXPECT_EQ(h.controller().community(), h.initial());
  store.Heal();
  h.Update(0, 2, 1);
  h.Update(1, 2, 2);
  EXPECT_EQ(h.One<CommunityCommitted>().version, Version(1));
}

TEST(SyncProtocol, DvwRoundsWeighByThePooledEvaluation) {
  Harness h(SettingsFor("sync-dvw", 2));
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Answer(1, h.IdOf(0, 1), 6);  // of 8, and 1 of 5 of its own
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Update(1, 1, 3);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 0u);
  h.Answer(0, h.IdOf(1, 1), 2);  // of 5, and 1 of 8 of its own
  auto note = h.One<CommunityCommitted>();
  EXPECT_EQ(note.updates[0].contribution, 7.0 / 13);
  EXPECT_EQ(note.updates[1].contribution, 3.0 / 13);
  EXPECT_FLOAT_EQ(note.model->parameters()[0], 0.7f * 1 + 0.3f * 3);
}

}  // namespace
}  // namespace metis::federation
