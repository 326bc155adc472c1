#include "metis/work/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <vector>

namespace metis::work {
namespace {

Instant At(int64_t seconds) { return Instant() + Duration::Seconds(seconds); }

TEST(Executor, GivesEveryJobItsOwnResultWithAnyNumberOfThreads) {
  for (uint32_t threads : {1U, 2U, 5U}) {
    Executor executor(threads);
    std::vector<Executor::Job<std::string>> jobs;
    for (int i = 0; i < 200; ++i) {
      jobs.push_back(executor.Start<std::string>(At(i), [i] { return std::to_string(i * i); }));
    }
    for (int i = 199; i >= 0; --i) {
      EXPECT_EQ(jobs[static_cast<size_t>(i)].Take(), std::to_string(i * i));
    }
  }
}

TEST(Executor, WithOneThreadWorkIsDoneWhereItIsWaitedFor) {
  Executor executor(1);
  std::thread::id worker;
  auto job = executor.Start<int>(At(1), [&] {
    worker = std::this_thread::get_id();
    return 1;
  });
  EXPECT_EQ(worker, std::thread::id());
  job.Take();
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(Executor, DoesTheEarliestDueFirst) {
  Executor executor(1, Executor::Threads::kBeside);
  std::latch busy(1), go(1);
  auto blocker = executor.Start<int>(At(0), [&] {
    busy.count_down();
    go.wait();
    return 0;
  });
  busy.wait();
  int order = 0;  // of the one thread that works
  std::vector<Executor::Job<int>> jobs;
  for (int64_t due : {30, 10, 20, 5}) {
    jobs.push_back(executor.Start<int>(At(due), [&] { return order++; }));
  }
  go.count_down();
  const int places[] = {3, 1, 2, 0};
  for (size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(jobs[i].Take(), places[i]);
  blocker.Take();
}

TEST(Executor, AnAbandonedJobHasNoResultAndIsNotDone) {
  for (uint32_t threads : {1U, 2U}) {
    Executor executor(threads);
    std::latch started(static_cast<std::ptrdiff_t>(threads)), go(1);
    std::vector<Executor::Job<int>> blockers;
    for (uint32_t i = 0; threads > 1 && i < threads; ++i) {
      blockers.push_back(executor.Start<int>(At(0), [&] {
        started.count_down();
        go.wait();
        return 0;
      }));
    }
    if (threads > 1) started.wait();
    bool done = false;
    auto job = executor.Start<int>(At(1), [&] {
      done = true;
      return 1;
    });
    job.Abandon();
    EXPECT_EQ(job.Take(), std::nullopt);
    go.count_down();
    for (auto& blocker : blockers) blocker.Take();
    EXPECT_FALSE(done);
  }
}

TEST(Executor, AbandoningWaitsForWorkUnderWayAndDropsItsResult) {
  Executor executor(2);
  std::atomic<bool> under_way{false}, stop{false}, over{false};
  auto job = executor.Start<int>(At(1), [&] {
    under_way = true;
    while (!stop) std::this_thread::yield();
    over = true;
    return 1;
  });
  while (!under_way) std::this_thread::yield();
  stop = true;
  job.Abandon();
  EXPECT_TRUE(over);
  EXPECT_EQ(job.Take(), std::nullopt);
}

TEST(Executor, EndsWithWorkLeftOverAndLetsGoOfWhatItHeld) {
  auto held = std::make_shared<int>(1);
  {
    Executor executor(2);
    for (int i = 0; i < 1000; ++i) executor.Start<int>(At(i), [held] { return *held; });
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace metis::work
