#include "metis/drivers/durable_controller.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "metis/drivers/testing.h"

namespace metis::drivers {
namespace {

using federation::Action;
using federation::Event;

// A log that can be told to refuse.
class FlakyLog final : public EventLog {
 public:
  Result<void> Append(Instant time, const Event& event) override {
    if (refuse_append) return Unavailable("the disk is full");
    return log_.Append(time, event);
  }
  Result<void> SaveSnapshot(Archived snapshot) override {
    if (refuse_snapshot) return Unavailable("the disk is full");
    ++snapshots;
    return log_.SaveSnapshot(std::move(snapshot));
  }
  Result<Recovered> Load() const override {
    if (refuse_load) return Unavailable("the disk is gone");
    return log_.Load();
  }
  uint64_t events_before_snapshot() const override { return log_.events_before_snapshot(); }

  bool refuse_append = false;
  bool refuse_snapshot = false;
  bool refuse_load = false;
  int snapshots = 0;

 private:
  MemoryEventLog log_;
};

class DurableControllerTest : public testing::Test {
 protected:
  std::unique_ptr<DurableController> Open(uint64_t snapshot_every) {
    return DurableController::Open(harness_.settings(), harness_.initial(),
                                   harness_.models().pool(), log_,
                                   {.snapshot_every = snapshot_every})
        .value();
  }

  Harness harness_{federation::SettingsFor("async-dvw", 3)};
  FlakyLog log_;
};

class RestartEvery : public DurableControllerTest, public testing::WithParamInterface<uint64_t> {};

TEST_P(RestartEvery, SnapshotPlusFoldIsTheStateAfterEveryEvent) {
  Play(harness_);
  ASSERT_GT(harness_.controller().statistics().commits, 3u);
  auto running = Open(GetParam());
  std::vector<Action> actions;
  for (const auto& [time, event] : harness_.history()) {
    ASSERT_TRUE(running->Handle(time, event, actions).ok());
    EXPECT_EQ(Open(GetParam())->controller().StateHash(), running->controller().StateHash())
        << "after event " << federation::kEventNames[event.index()];
  }
  EXPECT_EQ(running->controller().StateHash(), harness_.controller().StateHash());
  EXPECT_EQ(log_.snapshots, static_cast<int>((harness_.history().size() - 1) / GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Events, RestartEvery, testing::Values(1, 3, 7, 1000));

TEST_F(DurableControllerTest, TwoModelsMakeASnapshotIfTheirBytesAreTheBound) {
  Play(harness_);
  const uint64_t two = 2 * harness_.initial()->bytes().size();
  int expected = 0;
  int models = 0;
  std::vector<Action> actions;
  for (const auto& [time, event] : harness_.history()) {
    auto fresh = DurableController::Open(harness_.settings(), harness_.initial(),
                                         harness_.models().pool(), log_, {.snapshot_bytes = two})
                     .value();
    ASSERT_TRUE(fresh->Handle(time, event, actions).ok());
    if (models == 2) {
      ++expected;
      models = 0;
    }
    EXPECT_EQ(log_.snapshots, expected);
    models += std::holds_alternative<federation::UpdateReceived>(event) ? 1 : 0;
  }
  EXPECT_GT(expected, 0);
  EXPECT_EQ(Open(1000)->controller().StateHash(), harness_.controller().StateHash());
}

TEST_F(DurableControllerTest, ARestartedOneGoesOnAsIfNothingHadHappened) {
  Play(harness_);
  std::vector<Action> actions;
  for (const auto& [time, event] : harness_.history()) {
    actions.clear();
    ASSERT_TRUE(Open(4)->Handle(time, event, actions).ok());  // a new process for each event
  }
  EXPECT_EQ(federation::DescribeAll(actions), federation::DescribeAll(harness_.actions()));
  EXPECT_EQ(Open(4)->controller().StateHash(), harness_.controller().StateHash());
  EXPECT_GT(log_.snapshots, 2) << "restarts must not put snapshots off for ever";
}

TEST_F(DurableControllerTest, NothingHappensWhenTheLogRefusesAnAppend) {
  auto running = Open(100);
  std::vector<Action> actions;
  ASSERT_TRUE(running->Handle(Instant(), harness_.Joining(0), actions).ok());
  uint64_t before = running->controller().StateHash();
  actions.clear();
  log_.refuse_append = true;
  EXPECT_FALSE(running->Handle(Instant(), harness_.Joining(1), actions).ok());
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(running->controller().StateHash(), before);
  log_.refuse_append = false;
  ASSERT_TRUE(running->Handle(Instant(), harness_.Joining(1), actions).ok());
  EXPECT_FALSE(actions.empty());
}

TEST_F(DurableControllerTest, NothingHappensWhenASnapshotIsRefused) {
  auto running = Open(1);
  std::vector<Action> actions;
  log_.refuse_snapshot = true;
  ASSERT_TRUE(running->Handle(Instant(), harness_.Joining(0), actions).ok())
      << "the snapshot comes with the next event";
  EXPECT_FALSE(actions.empty());
  uint64_t before = running->controller().StateHash();
  actions.clear();
  EXPECT_FALSE(running->Handle(Instant(), harness_.Joining(1), actions).ok());
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(running->controller().StateHash(), before);
  EXPECT_EQ(Open(1)->controller().StateHash(), before);
}

// Counts what it hears.
class CountingRecorder final : public Recorder {
 public:
  void Event(Instant, const federation::Event&) override { ++events; }
  void Action(Instant, const federation::Action&) override { ++actions; }
  uint64_t events = 0;
  uint64_t actions = 0;
};

TEST_F(DurableControllerTest, ARecorderHearsAgainWhatHappenedSinceTheSnapshot) {
  Play(harness_);
  auto running = Open(8);
  std::vector<Action> actions;
  for (const auto& [time, event] : harness_.history()) {
    ASSERT_TRUE(running->Handle(time, event, actions).ok());
  }
  ASSERT_GT(log_.snapshots, 0);
  CountingRecorder recorder;
  ASSERT_TRUE(DurableController::Open(harness_.settings(), harness_.initial(),
                                      harness_.models().pool(), log_,
                                      {.snapshot_every = 8, .recorder = &recorder})
                  .ok());
  EXPECT_EQ(log_.events_before_snapshot() + recorder.events, harness_.history().size());
  EXPECT_GT(recorder.events, 0u);
  EXPECT_GT(recorder.actions, 0u);
}

TEST_F(DurableControllerTest, WhatASnapshotStandsOnIsMadeDurableBeforeIt) {
  Play(harness_);
  int asked = 0;
  auto running = DurableController::Open(harness_.settings(), harness_.initial(),
                                         harness_.models().pool(), log_,
                                         {.snapshot_every = 5,
                                          .before_snapshot = [&]() -> Result<void> {
                                            EXPECT_EQ(log_.snapshots, asked++);
                                            if (asked == 2) return Unavailable("the disk is full");
                                            return {};
                                          }})
                     .value();
  std::vector<Action> actions;
  int refused = 0;
  for (const auto& [time, event] : harness_.history()) {
    if (!running->Handle(time, event, actions).ok()) {
      ++refused;
      break;
    }
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(log_.snapshots, 1);
}

TEST_F(DurableControllerTest, AnEventThatItsRecordCannotTakeIsRefusedWhole) {
  Play(harness_);
  bool full = false;
  auto running =
      DurableController::Open(harness_.settings(), harness_.initial(), harness_.models().pool(),
                              log_, {.before_event = [&]() -> Result<void> {
                                if (full) return Unavailable("the disk is full");
                                return {};
                              }})
          .value();
  std::vector<Action> actions;
  for (const auto& [time, event] : harness_.history()) {
    const uint64_t before = running->controller().StateHash();
    actions.clear();
    full = true;
    EXPECT_FALSE(running->Handle(time, event, actions).ok());
    EXPECT_TRUE(actions.empty());
    EXPECT_EQ(running->controller().StateHash(), before);
    full = false;
    ASSERT_TRUE(running->Handle(time, event, actions).ok());
  }
  EXPECT_EQ(running->controller().StateHash(), harness_.controller().StateHash());
  EXPECT_EQ(Open(1000)->controller().StateHash(), harness_.controller().StateHash())
      << "nothing refused is in the log";
}

// With a log of its own, and a disk that gives nothing back after the second commit: how far it
// gets with the events of the harness.
class UnreadableModels : public DurableControllerTest {
 protected:
  std::unique_ptr<federation::FlakyStore> MakeDisk() {
    auto store = std::make_unique<federation::FlakyStore>();
    disk_ = store.get();
    return store;
  }
  Result<std::unique_ptr<DurableController>> OpenOn(EventLog& log) {
    return DurableController::Open(harness_.settings(), harness_.initial(),
                                   harness_.models().pool(), log, {.store = MakeDisk()});
  }
  // How many events it took, the one that it could not handle among them.
  size_t Run(DurableController& running, std::vector<Action>& out) {
    size_t taken = 0;
    for (const auto& [time, event] : harness_.history()) {
      disk_->get_fails = running.controller().statistics().commits >= 2;
      const size_t before = out.size();
      ++taken;
      if (running.Handle(time, event, out).ok()) continue;
      EXPECT_EQ(out.size(), before) << "what it decided must not leave";
      break;
    }
    disk_->get_fails = false;
    return taken;
  }

  federation::FlakyStore* disk_ = nullptr;
};

TEST_F(UnreadableModels, EndItBeforeAnythingLeavesAndTheLogGoesOn) {
  Play(harness_);
  auto running = OpenOn(log_).value();
  std::vector<Action> out;
  const size_t taken = Run(*running, out);
  ASSERT_LT(taken, harness_.history().size());
  EXPECT_TRUE(running->failed());
  const auto& [time, next] = harness_.history()[taken];
  const size_t before = out.size();
  const Result<void> more = running->Handle(time, next, out);
  ASSERT_FALSE(more.ok()) << "its state is not what its log says, even if the disk is well again";
  EXPECT_EQ(more.error().message, "a learner's latest model: the disk is gone");
  EXPECT_EQ(out.size(), before);

  auto again = OpenOn(log_).value();
  for (size_t i = taken; i < harness_.history().size(); ++i) {
    const auto& [then, event] = harness_.history()[i];
    ASSERT_TRUE(again->Handle(then, event, out).ok());
  }
  EXPECT_EQ(again->controller().StateHash(), harness_.controller().StateHash())
      << "the event that could not be handled was in the log, and those after it were not";
}

TEST_F(UnreadableModels, AreAnErrorWhereTheLogIsFolded) {
  Play(harness_);
  auto running = Open(1000);
  std::vector<Action> out;
  for (const auto& [time, event] : harness_.history()) {
    ASSERT_TRUE(running->Handle(time, event, out).ok());
  }
  std::unique_ptr<federation::FlakyStore> store = MakeDisk();
  store->get_fails = true;
  const auto opened =
      DurableController::Open(harness_.settings(), harness_.initial(), harness_.models().pool(),
                              log_, {.store = std::move(store)});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "a learner's latest model: the disk is gone");
}

TEST_F(UnreadableModels, RefuseAnUpdateWhereNoLogSaysOtherwise) {
  Play(harness_);
  NoEventLog none;
  auto running = OpenOn(none).value();
  std::vector<Action> out;
  EXPECT_EQ(Run(*running, out), harness_.history().size());
  EXPECT_FALSE(running->failed());
  EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](const Action& action) {
    const auto* rejected = std::get_if<federation::RejectUpdate>(&action);
    return rejected != nullptr && rejected->reason == federation::RejectReason::kStorage;
  }));
}

TEST_F(DurableControllerTest, ALogThatCannotBeReadIsAnError) {
  log_.refuse_load = true;
  EXPECT_FALSE(DurableController::Open(harness_.settings(), harness_.initial(),
                                       harness_.models().pool(), log_, {.snapshot_every = 10})
                   .ok());
}

TEST(MemoryEventLog, ASnapshotReplacesTheEventsBeforeIt) {
  MemoryEventLog log;
  Instant later = Instant() + Duration::Seconds(4);
  ASSERT_TRUE(log.Append(Instant(), federation::LearnerLost{LearnerId(3), Incarnation(1)}).ok());
  ASSERT_TRUE(log.Append(later, federation::LearnerLeft{LearnerId(5), Incarnation(2)}).ok());
  EXPECT_EQ(log.Load().value().events.size(), 2u);
  EXPECT_FALSE(log.Load().value().snapshot);
  ASSERT_TRUE(log.SaveSnapshot({"state", {}}).ok());
  ASSERT_TRUE(log.Append(later, federation::LearnerLost{LearnerId(7), Incarnation(1)}).ok());
  Recovered recovered = log.Load().value();
  ASSERT_TRUE(recovered.snapshot);
  EXPECT_EQ(recovered.snapshot->bytes, "state");
  ASSERT_EQ(recovered.events.size(), 1u);
  EXPECT_EQ(recovered.events[0].time, later);
  EXPECT_EQ(std::get<federation::LearnerLost>(recovered.events[0].event).learner, LearnerId(7));
}

TEST(NoEventLog, CountsEventsAndKeepsNeitherThemNorTheirModels) {
  NoEventLog log;
  ModelPool pool(ModelSchema::Create({{"values", {3}}}).value());
  federation::UpdateReceived update;
  update.model = pool.Zero();
  std::weak_ptr<const Model> model = update.model;
  ASSERT_TRUE(log.Append(Instant(), std::move(update)).ok());
  EXPECT_TRUE(model.expired());
  EXPECT_EQ(log.events_before_snapshot(), 0u);
  ASSERT_TRUE(log.SaveSnapshot({"state", {}}).ok());
  ASSERT_TRUE(log.Append(Instant(), federation::LearnerLost{LearnerId(7), Incarnation(1)}).ok());
  EXPECT_EQ(log.events(), 2u);
  EXPECT_EQ(log.events_before_snapshot(), 1u);
  EXPECT_FALSE(log.Load().value().snapshot);
  EXPECT_TRUE(log.Load().value().events.empty());
}

}  // namespace
}  // namespace metis::drivers
