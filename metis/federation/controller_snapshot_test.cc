// Snapshot, restore and resume: a restarted controller is the same controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A run with a little of everything. Under FedAvg the answers of evaluators are ignored.
void PlayScript(Harness& h) {
  h.JoinObserver(9);
  h.JoinAll();
  h.Test(9, 0, 20);
  h.Update(0, 1, 1.3f, 11);
  h.Answer(1, h.IdOf(0, 1), 3);
  h.Update(1, 1, -2.1f, 7);
  h.Answer(2, h.IdOf(0, 1), 9);
  h.Answer(0, h.IdOf(1, 1), 4);
  h.Send(EpochReported{LearnerId(2), kFirstLife, 1, 1});
  h.After(Duration::Seconds(5));
  h.Lose(2);
  h.Update(0, 2, 1e30f);
  h.Return(2);
  h.Update(2, 1, 0.7f, 23);
  h.Answer(1, h.IdOf(2, 1), 5);
  h.Join(0, kSecondLife);
  h.After(Duration::Seconds(130));
  for (uint64_t ordinal = 1; ordinal <= 6; ++ordinal) {
    h.Send(TimerFired{{TimerId::Kind::kEvaluation, ordinal}});
  }
  h.Send(TimerFired{{TimerId::Kind::kRound, 1}});
  h.Update(0, 1, 3.3f, 5);
  h.Command(OperatorCommand::Kind::kPause);
  h.Update(1, 2, 8.1f, 9);
  h.Join(4);
  h.Command(OperatorCommand::Kind::kResume);
  h.Command(OperatorCommand::Kind::kWithdraw, 1);
  h.Update(4, 1, 0.2f, 3);
  h.Leave(4);
  h.Fire(TimerId::Kind::kDuration);
  h.Test(9, h.controller().version().value(), 55);
  h.Ask(0, 1);
}

Settings ScriptSettings(std::string_view policy) {
  Settings settings = SettingsFor(policy, 3);
  policy::Set(settings, "sync.round_deadline", Duration::Seconds(100));
  settings.stop.duration = Duration::Seconds(500);
  settings.test.every_commits = 1;
  return settings;
}

class SnapshotTest : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(EveryPolicy, SnapshotTest, testing::ValuesIn(policy::kPolicyNames),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(SnapshotTest, RestoredAtAnyStepARunGoesOnTheSame) {
  Harness h(ScriptSettings(GetParam()));
  PlayScript(h);
  ASSERT_EQ(h.controller().phase(), Phase::kFinished);
  ASSERT_GE(h.controller().version(), Version(2));

  MemoryModelStore store;
  Controller original(h.settings(), h.initial(), h.models().pool(), store);
  std::vector<Action> out;
  for (size_t step = 0; step < h.history().size(); ++step) {
    MemoryModelStore copy_store;
    Controller copy(h.settings(), h.initial(), h.models().pool(), copy_store);
    ASSERT_TRUE(copy.Restore(original.Snapshot()).ok()) << "before event " << step;
    ASSERT_EQ(copy.StateHash(), original.StateHash()) << "before event " << step;

    // The copy plays the rest beside a second original.
    MemoryModelStore twin_store;
    Controller twin(h.settings(), h.initial(), h.models().pool(), twin_store);
    for (size_t i = 0; i < h.history().size(); ++i) {
      const auto& [now, event] = h.history()[i];
      std::vector<Action> from_twin, from_copy;
      twin.Handle(now, event, from_twin);
      if (i < step) continue;
      copy.Handle(now, event, from_copy);
      ASSERT_EQ(DescribeAll(from_copy), DescribeAll(from_twin))
          << "restored at " << step << ", event " << i;
      ASSERT_EQ(copy.StateHash(), twin.StateHash()) << "restored at " << step << ", event " << i;
    }
    EXPECT_EQ(copy.statistics(), h.controller().statistics());
    original.Handle(h.history()[step].first, h.history()[step].second, out);
  }
  EXPECT_EQ(original.StateHash(), h.controller().StateHash());
}

TEST_P(SnapshotTest, ACutSnapshotIsAnErrorAtEveryLength) {
  Harness h(ScriptSettings(GetParam()));
  h.JoinAll();
  h.Update(0, 1, 1.3f);
  h.Update(1, 1, 2.3f);
  Archived snapshot = h.controller().Snapshot();
  Archived cut = snapshot;
  for (size_t length = 0; length < snapshot.bytes.size(); ++length) {
    cut.bytes = snapshot.bytes.substr(0, length);
    MemoryModelStore store;
    Controller fresh(h.settings(), h.initial(), h.models().pool(), store);
    EXPECT_FALSE(fresh.Restore(cut).ok()) << length << " bytes";
  }
  snapshot.bytes += '\0';
  MemoryModelStore store;
  Controller fresh(h.settings(), h.initial(), h.models().pool(), store);
  EXPECT_FALSE(fresh.Restore(snapshot).ok());
}

TEST(ControllerSnapshot, OfAnotherFormatOrSchemaOrWithoutItsModelsIsAnError) {
  Harness h(SettingsFor("async-fedavg", 2));
  h.JoinAll();
  h.Update(0, 1, 1.3f);
  h.Update(1, 1, 4.1f);
  const Archived snapshot = h.controller().Snapshot();
  auto restored = [&](const Archived& archived) {
    MemoryModelStore store;
    Controller fresh(h.settings(), h.initial(), h.models().pool(), store);
    return fresh.Restore(archived);
  };
  ASSERT_TRUE(restored(snapshot).ok());
  Archived other = snapshot;
  other.bytes[0] = 99;  // the format comes first
  EXPECT_THAT(restored(other).error().message, HasSubstr("format 99"));
  other = snapshot;
  other.models.pop_back();
  EXPECT_THAT(restored(other).error().message, HasSubstr("snapshot"));
  other = snapshot;
  std::swap(other.models.front(), other.models.back());
  EXPECT_THAT(restored(other).error().message, HasSubstr("snapshot"));

  Models models(9);
  MemoryModelStore store;
  Controller fresh(h.settings(), models.From(0), models.pool(), store);
  EXPECT_THAT(fresh.Restore(snapshot).error().message, HasSubstr("schema"));
}

TEST(ControllerSnapshot, ResumeIssuesTimersEvaluationsAndTestsAgainAndChangesNothing) {
  Settings settings = SettingsFor("async-dvw", 3);
  settings.stop.duration = Duration::Seconds(500);
  settings.test.every = Duration::Seconds(5);
  Harness h(settings);
  h.JoinObserver(9);
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Update(1, 1, 1);
  h.Answer(1, h.IdOf(0, 1), 3);
  h.Lose(2);  // answers nothing, and is gone from both
  ASSERT_EQ(h.Count<CommunityCommitted>(), 1u);
  h.Update(1, 1, 1);
  uint64_t before = h.controller().StateHash();
  std::vector<Action> out;
  h.controller().Resume(out);
  EXPECT_EQ(h.controller().StateHash(), before);
  std::vector<TimerId::Kind> timers;
  size_t evaluations = 0, tests = 0;
  for (const Action& action : out) {
    if (const auto* timer = std::get_if<StartTimer>(&action)) timers.push_back(timer->timer.kind);
    if (const auto* request = std::get_if<RequestEvaluation>(&action)) {
      ++evaluations;
      EXPECT_EQ(request->evaluator, LearnerId(0));
      EXPECT_EQ(request->update, h.IdOf(1, 1));
    }
    if (const auto* test = std::get_if<RequestTest>(&action)) {
      ++tests;
      EXPECT_EQ(test->version, Version(0));
    }
  }
  using Kind = TimerId::Kind;
  EXPECT_THAT(timers, testing::UnorderedElementsAre(Kind::kDuration, Kind::kTest, Kind::kEvaluation,
                                                    Kind::kLease));
  EXPECT_EQ(evaluations, 1u);
  EXPECT_EQ(tests, 1u);
}

TEST(ControllerSnapshot, AfterTheEndOnlyTheLastTestIsResumed) {
  Harness h(SettingsFor("async-dvw", 2));
  h.JoinObserver(9);
  h.JoinAll();
  h.Update(0, 1, 1);
  h.Command(OperatorCommand::Kind::kStop);
  std::vector<Action> out;
  h.controller().Resume(out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<RequestTest>(out[0]));
}

TEST(ControllerSnapshot, EqualStatesHaveEqualHashesAndDifferentOnesDoNot) {
  Harness a(SettingsFor("async-fedavg", 2)), b(SettingsFor("async-fedavg", 2));
  for (Harness* h : {&a, &b}) h->JoinAll();
  EXPECT_EQ(a.controller().StateHash(), b.controller().StateHash());
  a.Update(0, 1, 1);
  b.Update(0, 1, 1.0000001f);
  EXPECT_NE(a.controller().StateHash(), b.controller().StateHash());
}

}  // namespace
}  // namespace metis::federation
