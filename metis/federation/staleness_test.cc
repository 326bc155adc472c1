#include "metis/federation/staleness.h"

#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

const LearnerId kFast{0}, kSlow{1};

TEST(StalenessLedger, CountsTheStepsOfCommittedUpdates) {
  StalenessLedger ledger;
  EXPECT_EQ(ledger.committed_steps(), 0u);
  ledger.Committed(40);
  ledger.Committed(7);
  EXPECT_EQ(ledger.committed_steps(), 47u);
}

TEST(StalenessLedger, EffectiveStalenessIsOthersStepsSinceThePlusOwn) {
  StalenessLedger ledger;
  ledger.Sent(kSlow, Version(0));
  ledger.Committed(40);
  ledger.Sent(kFast, Version(1));
  ledger.Committed(25);
  EXPECT_EQ(ledger.EffectiveStaleness(ledger.StepsAt(kSlow, Version(0)), 9), 74u);
  EXPECT_EQ(ledger.EffectiveStaleness(ledger.StepsAt(kFast, Version(1)), 25), 50u);
}

TEST(StalenessLedger, TheFirstSendingOfAVersionCounts) {
  StalenessLedger ledger;
  ledger.Committed(10);
  ledger.Sent(kFast, Version(3));
  ledger.Committed(5);
  ledger.Sent(kFast, Version(3));
  EXPECT_EQ(ledger.StepsAt(kFast, Version(3)), 10u);
}

TEST(StalenessLedger, TheNewestSendingIsThatOfTheHighestVersion) {
  StalenessLedger ledger;
  EXPECT_FALSE(ledger.Newest(kFast));
  ledger.Sent(kFast, Version(3));
  ledger.Committed(7);
  ledger.Sent(kFast, Version(5));
  ledger.Committed(4);
  ledger.Sent(kFast, Version(5));
  ledger.Sent(kFast, Version(4));
  EXPECT_EQ(ledger.Newest(kFast)->version, Version(5));
  EXPECT_EQ(ledger.Newest(kFast)->steps, 7u);
  EXPECT_FALSE(ledger.Newest(kSlow));
  ledger.Forget(kFast);
  EXPECT_FALSE(ledger.Newest(kFast));
}

TEST(StalenessLedger, UsingAVersionForgetsTheEarlierOnes) {
  StalenessLedger ledger;
  for (uint64_t version : {2u, 5u, 9u}) ledger.Sent(kFast, Version(version));
  ledger.Sent(kSlow, Version(2));
  EXPECT_EQ(ledger.StepsAt(kFast, Version(5)), 0u);
  EXPECT_FALSE(ledger.WasSent(kFast, Version(2)));
  EXPECT_TRUE(ledger.WasSent(kFast, Version(5)));
  EXPECT_TRUE(ledger.WasSent(kFast, Version(9)));
  EXPECT_TRUE(ledger.WasSent(kSlow, Version(2)));
}

TEST(StalenessLedger, ANewLifeHoldsNoModel) {
  StalenessLedger ledger;
  ledger.Sent(kFast, Version(2));
  ledger.Forget(kFast);
  EXPECT_FALSE(ledger.WasSent(kFast, Version(2)));
  EXPECT_FALSE(ledger.WasSent(kSlow, Version(2)));
}

TEST(StalenessLedger, ARunsStalenessEqualsALedgerKeptByHand) {
  Harness h(SettingsFor("async-fedavg", 3));
  h.JoinAll();  // all three hold version 0 at S_c = 0
  struct Step {
    uint32_t learner;
    uint64_t sequence, steps, staleness, versions;
  };
  // Learner 2 is slow: it commits once, last but one.
  const Step script[] = {
      {0, 1, 12, 12, 0},            // S_c 12
      {1, 1, 20, 12 + 20, 1},       // S_c 32
      {0, 2, 12, 20 + 12, 1},       // got its model at 12; S_c 44
      {0, 3, 12, 12, 0},            // got its model at 44; S_c 56
      {2, 1, 5, 56 + 5, 4},         // holds version 0 still; S_c 61
      {1, 2, 20, 61 - 32 + 20, 3},  // got its model at 32
  };
  uint64_t committed = 0;
  for (const Step& step : script) {
    h.Update(step.learner, step.sequence, 1.5f, step.steps);
    auto note = h.One<CommunityCommitted>();
    committed += step.steps;
    EXPECT_EQ(note.updates[0].staleness, step.staleness) << "learner " << step.learner;
    EXPECT_EQ(note.updates[0].version_staleness, step.versions);
    EXPECT_EQ(note.committed_steps, committed);
    EXPECT_EQ(h.One<SendCommunity>().committed_steps, committed);
  }
  h.Send(EpochReported{LearnerId(1), kFirstLife, 3, 1});
  EXPECT_EQ(h.One<ReportSteps>().committed_steps, committed);
}

TEST(StalenessLedger, ForgedStepsAreRefusedAndCountNothing) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(1, 1, 2, 7);
  h.Update(0, 1, 2, UINT64_MAX - 3);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate);
  EXPECT_EQ(h.controller().ledger().committed_steps(), 7u);
}

}  // namespace
}  // namespace metis::federation
