#include "metis/operations/status_board.h"

#include <gtest/gtest.h>

#include <thread>

#include "metis/federation/testing.h"

namespace metis::operations {
namespace {

using federation::Harness;
using federation::SettingsFor;

// A federation whose board hears everything, and which publishes when it is told to.
class Board {
 public:
  explicit Board(const char* policy, uint32_t learners)
      : harness(SettingsFor(policy, learners)), board_(Facts()) {}

  static Status Facts() {
    Status facts;
    facts.program = "metis test";
    facts.federation = "two hospitals";
    facts.parameters = 5;
    return facts;
  }
  // Tells the board of what the harness has handled since the last call.
  void Tell() {
    const auto& history = harness.history();
    for (; told_ < history.size(); ++told_)
      board_.Event(history[told_].first, history[told_].second);
  }
  // After every event: its actions are those of the latest one.
  void Told() {
    Tell();
    for (const federation::Action& action : harness.actions()) board_.Action(harness.now(), action);
  }
  void Join(uint32_t learner) {
    harness.Join(learner);
    Told();
    around.connected[LearnerId(learner)] = "ipv4:127.0.0.1:4000";
    heard[LearnerId(learner)] = harness.now();
  }
  void Update(uint32_t learner, uint64_t sequence, float value, uint64_t steps = 10) {
    federation::UpdateReceived update = harness.Updating(learner, sequence, value, steps);
    update.cycle.epochs = 3;
    update.cycle.reason = federation::CycleReason::kC2;
    harness.Send(update);
    Told();
  }
  std::shared_ptr<const Status> Look() {
    board_.Publish(harness.controller(), {harness.now(), heard, 0}, around);
    return board_.Latest();
  }
  StatusBoard& board() { return board_; }

  Harness harness;
  Surroundings around;
  std::map<LearnerId, Instant> heard;

 private:
  StatusBoard board_;
  size_t told_ = 0;
};

TEST(StatusBoard, ShowsWhatItIsBeforeAnythingWasPublished) {
  const StatusBoard board(Board::Facts());
  EXPECT_EQ(board.Latest()->federation, "two hospitals");
  EXPECT_EQ(board.Latest()->phase, "");
}

TEST(StatusBoard, SharesAreContributionsOverTheirSum) {
  Board board("async-fedavg", 2);
  board.Join(0);
  board.Join(1);
  EXPECT_EQ(board.Look()->participants[0].share, 0);
  board.Update(0, 1, 1.5f);
  board.Update(1, 1, 2.5f, 7);
  const std::shared_ptr<const Status> status = board.Look();
  ASSERT_EQ(status->participants.size(), 2u);
  EXPECT_EQ(status->program, "metis test");
  EXPECT_EQ(status->phase, "running");
  EXPECT_EQ(status->version, 2u);
  EXPECT_EQ(status->requests, 2u);
  EXPECT_EQ(status->committed_steps, 17u);
  EXPECT_EQ(status->participants[0].contribution, 30);
  EXPECT_EQ(status->participants[1].contribution, 47);
  EXPECT_DOUBLE_EQ(status->participants[1].share, 47.0 / 77);
  EXPECT_EQ(status->participants[1].updates, 1u);
  EXPECT_EQ(status->participants[1].epochs, 3u);
  EXPECT_EQ(status->participants[1].cycles.at("C2"), 1u);
  ASSERT_EQ(status->cycles.size(), 2u);
  EXPECT_EQ(status->cycles[1].reason, "C2");
  EXPECT_EQ(status->cycles[1].learner, 1u);
}

TEST(StatusBoard, StalenessIsWhatOthersCommittedSinceALearnerGotItsModel) {
  Board board("async-fedavg", 2);
  board.Join(0);
  board.Join(1);
  board.Update(0, 1, 1.5f, 10);
  board.Update(0, 2, 1.5f, 4);
  const std::shared_ptr<const Status> status = board.Look();
  EXPECT_EQ(status->participants[0].version, 2u);
  EXPECT_EQ(status->participants[0].staleness, 0u);
  EXPECT_EQ(status->participants[1].version, 0u);
  EXPECT_EQ(status->participants[1].staleness, 14u);
}

TEST(StatusBoard, StatesFollowWhatALearnerIsDoing) {
  Board board("sync-fedavg", 3);
  board.Join(0);
  EXPECT_EQ(board.Look()->participants[0].state, "idle");  // the federation has not begun
  EXPECT_EQ(board.Look()->phase_reason, "1 of 3 learners there");
  board.Join(1);
  board.Join(2);
  EXPECT_EQ(board.Look()->participants[0].state, "training");
  board.Update(0, 1, 1.5f);
  EXPECT_EQ(board.Look()->participants[0].state, "committing");  // the round is open
  EXPECT_EQ(board.Look()->pending, 1u);
  board.around.connected.erase(LearnerId(1));
  EXPECT_EQ(board.Look()->participants[1].state, "away");
  board.harness.Lose(1);
  board.Told();
  EXPECT_EQ(board.Look()->participants[1].state, "lost");
  board.harness.Leave(2);
  board.Told();
  EXPECT_EQ(board.Look()->participants[2].state, "left");
  EXPECT_EQ(board.Look()->participants[0].state, "training");  // nobody else is waited for
  board.harness.Command(federation::OperatorCommand::Kind::kStop);
  board.Told();
  EXPECT_EQ(board.Look()->participants[0].state, "idle");
  EXPECT_EQ(board.Look()->stopped_by, "operator");
  board.around.connected.clear();
  EXPECT_EQ(board.Look()->participants[0].state, "left");  // it was dismissed
}

TEST(StatusBoard, ARefusedLearnerOwesNothingUntilItGetsAModel) {
  Board board("sync-fedavg", 2);
  board.Join(0);
  board.Join(1);
  federation::UpdateReceived update = board.harness.Updating(0, 1, 1.5f);
  update.model = board.harness.models().Filled(1e9f);
  board.harness.Send(update);
  board.Told();
  const std::shared_ptr<const Status> status = board.Look();
  EXPECT_EQ(status->participants[0].state, "idle");
  EXPECT_EQ(status->participants[0].rejected, 1u);
  board.Update(1, 1, 2.5f);
  EXPECT_EQ(board.Look()->participants[0].state, "training");  // the next round
}

TEST(StatusBoard, ObserversAreIdleAndTheirTestsAreShown) {
  Board board("async-fedavg", 1);
  board.harness.JoinObserver(5);
  board.Told();
  board.around.connected[LearnerId(5)] = "unix:";
  board.Join(0);
  board.harness.Test(5, 0, 20);
  board.Told();
  board.Update(0, 1, 1.5f);
  const std::shared_ptr<const Status> status = board.Look();
  EXPECT_EQ(status->participants[1].role, "observer");
  EXPECT_EQ(status->participants[1].state, "idle");
  ASSERT_EQ(status->tests.size(), 1u);
  EXPECT_EQ(status->tests[0].accuracy, 0.2);
  EXPECT_EQ(status->best->version, 0u);
}

TEST(StatusBoard, RatesForgetWhatIsOlderThanTheirWindow) {
  Board board("async-fedavg", 2);
  board.Join(0);
  board.Join(1);
  board.Update(0, 1, 1);
  board.harness.After(Duration::Seconds(50));
  board.Update(0, 2, 1);
  board.Update(1, 1, 1);
  board.harness.After(Duration::Seconds(9));  // at 60 s: one second was gone at the beginning
  EXPECT_DOUBLE_EQ(board.Look()->participants[0].updates_per_minute, 2);
  EXPECT_DOUBLE_EQ(board.Look()->requests_per_minute, 3);
  board.harness.After(Duration::Seconds(5));
  EXPECT_DOUBLE_EQ(board.Look()->participants[0].updates_per_minute, 1);
  EXPECT_DOUBLE_EQ(board.Look()->requests_per_minute, 2);
  EXPECT_DOUBLE_EQ(*board.Look()->participants[1].last_seen_s, 64);
}

TEST(StatusBoard, TestsAreThinnedAndTheLastStays) {
  Board board("async-fedavg", 1);
  for (uint64_t i = 0; i < 1777; ++i) {
    federation::CommunityCommitted committed;
    committed.version = Version(i);
    board.board().Action(Instant(), committed);
    federation::CommunityTested tested;
    tested.version = Version(i);
    tested.counts = federation::CountsOf({60, 40}, i % 100);
    board.board().Event(Instant::FromNanoseconds(static_cast<int64_t>(i)), tested);
    const std::shared_ptr<const Status> status = board.Look();
    ASSERT_LE(status->tests.size(), kMostTests);
    ASSERT_EQ(status->tests.front().version, 0u);
    ASSERT_EQ(status->tests.back().version, i);
  }
  EXPECT_GE(board.Look()->tests.size(), kMostTests / 2 - 1);
}

TEST(StatusBoard, TheLastCyclesAndEventsStay) {
  Board board("async-fedavg", 1);
  board.Join(0);
  for (uint64_t i = 1; i <= kMostCycles + 7; ++i) board.Update(0, i, 1.5f);
  for (size_t i = 0; i < kMostEvents + 3; ++i) board.board().Say(Instant(), Text("event ", i));
  const std::shared_ptr<const Status> status = board.Look();
  EXPECT_EQ(status->cycles.size(), kMostCycles);
  ASSERT_EQ(status->events.size(), kMostEvents);
  EXPECT_EQ(status->events.front().text, "event 3");
  EXPECT_EQ(status->events.back().text, Text("event ", kMostEvents + 2));
}

TEST(StatusBoard, WhoLooksWhileItIsPublishedSeesWholeStatuses) {
  Board board("async-fedavg", 3);
  for (uint32_t k = 0; k < 3; ++k) board.Join(k);
  (void)board.Look();
  std::atomic<bool> over = false;
  std::atomic<uint64_t> looked = 0;
  std::thread reader([&] {
    uint64_t version = 0;
    while (!over) {
      const std::shared_ptr<const Status> status = board.board().Latest();
      ASSERT_EQ(status->participants.size(), 3u);
      ASSERT_GE(status->version, version);
      ASSERT_EQ(status->version, status->requests);
      version = status->version;
      ++looked;
    }
  });
  for (uint64_t i = 1; i <= 200 || looked == 0; ++i) {
    board.Update(static_cast<uint32_t>(i % 3), (i + 2) / 3, 1.5f);
    (void)board.Look();
  }
  over = true;
  reader.join();
}

}  // namespace
}  // namespace metis::operations
