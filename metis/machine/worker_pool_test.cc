#include "metis/machine/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace metis::machine {
namespace {

TEST(WorkerPool, CarriesOutEverythingThatWasQueuedBeforeItEnds) {
  std::atomic<int> done = 0;
  WorkerPool pool(3, 2);
  for (int i = 0; i < 500; ++i) pool.Post([&] { ++done; });
  pool.Stop();
  EXPECT_EQ(done, 500);
}

TEST(WorkerPool, OneThreadDoesThemInOrderAndNothingAfterItsEnd) {
  std::vector<int> done;
  WorkerPool pool(1);
  for (int i = 0; i < 100; ++i) pool.Post([&done, i] { done.push_back(i); });
  pool.Stop();
  pool.Post([&done] { done.push_back(-1); });
  pool.Stop();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(WorkerPool, WhoFindsTheQueueFullWaits) {
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> begun = 0;
  WorkerPool pool(1, 2);
  pool.Post([&] {
    ++begun;
    open.wait();
  });
  while (begun == 0) std::this_thread::yield();
  pool.Post([&] { ++begun; });
  pool.Post([&] { ++begun; });  // now the queue is full
  std::atomic<bool> through = false;
  std::thread fourth([&] {
    pool.Post([&] { ++begun; });
    through = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(through);
  EXPECT_EQ(begun, 1);
  gate.set_value();
  fourth.join();
  pool.Stop();
  EXPECT_EQ(begun, 4);
}

}  // namespace
}  // namespace metis::machine
