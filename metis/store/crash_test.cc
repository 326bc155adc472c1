// Processes that truly die: whatever the log said was appended is there afterwards.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include "metis/core/random.h"
#include "metis/store/posix_file.h"
#include "metis/store/sqlite_event_log.h"
#include "metis/store/testing.h"

namespace metis::store {
namespace {

using drivers::LoggedEvent;
using federation::Event;

constexpr uint64_t kParameters = 50'000;  // so that a kill often hits the writing of a model
constexpr int kLives = 40;

class CrashTest : public ::testing::Test {
 protected:
  // Everything about event n follows from n.
  ModelPtr ModelOf(uint64_t n) {
    Random random({.seed = 5, .learner = n, .purpose = Purpose::kTest});
    ModelDraft draft = models_.pool().Draft();
    for (float& value : draft.parameters()) value = static_cast<float>(random.Uniform(-1, 1));
    return std::move(draft).Seal();
  }
  Event EventOf(uint64_t n) {
    if (n % 2 == 0) return federation::LearnerLost{LearnerId(uint32_t(n)), Incarnation(1)};
    federation::UpdateReceived update;
    update.id = {LearnerId(uint32_t(n % 5)), Incarnation(1), Sequence(n)};
    update.model = ModelOf(n);
    return update;
  }
  Archived SnapshotAfter(uint64_t n) { return {Text("after ", n), {ModelOf(n), ModelOf(n + 1)}}; }

  // Appends for ever, and tells through the pipe the number of each event after it was appended.
  [[noreturn]] void Live(int tell) {
    auto blobs = BlobStore::Open(home_ / "blobs", models_.pool()).value();
    auto log = SqliteEventLog::Open(home_ / "state.db", *blobs, "crash").value();
    uint64_t n = log->events_before_snapshot() + log->Load().value().events.size();
    for (;;) {
      ++n;
      METIS_CHECK(log->Append(Instant::FromNanoseconds(int64_t(n)), EventOf(n)));
      METIS_CHECK(WriteAll(tell, &n, sizeof n));
      if (n % 7 == 3) METIS_CHECK(log->SaveSnapshot(SnapshotAfter(n)));
    }
  }

  // The last event that a life told of before it was killed; `before` if none.
  uint64_t RunAndKill(Random& random, uint64_t before) {
    int ends[2];
    METIS_CHECK(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) Live(ends[1]);
    ::close(ends[1]);
    uint64_t last = before, told = 0;
    for (uint64_t wanted = random.Below(12); wanted > 0; --wanted) {
      if (!ReadAll(ends[0], &told, sizeof told)) break;
      last = told;
    }
    ::usleep(static_cast<useconds_t>(random.Below(6000)));  // any moment of an append or snapshot
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
    while (ReadAll(ends[0], &told, sizeof told)) last = told;
    ::close(ends[0]);
    return last;
  }

  void ExpectEvent(const LoggedEvent& logged, uint64_t n) {
    EXPECT_EQ(logged.time.nanoseconds(), int64_t(n));
    const Event expected = EventOf(n);
    ASSERT_EQ(logged.event.index(), expected.index()) << n;
    if (const auto* update = std::get_if<federation::UpdateReceived>(&logged.event)) {
      EXPECT_EQ(update->id, std::get<federation::UpdateReceived>(expected).id);
      EXPECT_TRUE(SameBits(update->model, ModelOf(n))) << n;
    }
  }

  // How many events there are.
  uint64_t Check() {
    auto blobs = BlobStore::Open(home_ / "blobs", models_.pool()).value();
    auto log = SqliteEventLog::Open(home_ / "state.db", *blobs, "crash").value();
    const Result<drivers::Recovered> loaded = log->Load();
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message;
      return 0;
    }
    uint64_t n = log->events_before_snapshot();
    EXPECT_EQ(loaded->snapshot.has_value(), n > 0);
    if (loaded->snapshot) {
      EXPECT_EQ(loaded->snapshot->bytes, SnapshotAfter(n).bytes);
      EXPECT_TRUE(SameBits(ModelAt(*loaded->snapshot, 1), ModelOf(n + 1)));
      ++snapshots_seen_[n];
    }
    for (const LoggedEvent& logged : loaded->events) ExpectEvent(logged, ++n);
    return n;
  }

  TemporaryDirectory home_;
  federation::Models models_{kParameters};
  std::map<uint64_t, int> snapshots_seen_;
};

TEST_F(CrashTest, WhateverWasSaidToBeAppendedIsThereAfterAKill) {
  Random random({.seed = 20, .purpose = Purpose::kTest});
  uint64_t events = 0;
  for (int life = 0; life < kLives && !HasFailure(); ++life) {
    const uint64_t told = RunAndKill(random, events);
    const uint64_t there = Check();
    EXPECT_GE(there, told) << "life " << life;
    EXPECT_LE(there, told + 1) << "life " << life << ": at most the one that was under way";
    events = there;
  }
  EXPECT_GT(events, 100u);
  EXPECT_GT(snapshots_seen_.size(), 10u);
}

}  // namespace
}  // namespace metis::store
