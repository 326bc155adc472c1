#include "metis/dashboard/bounded_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace metis::dashboard {
namespace {

TEST(BoundedPool, CarriesOutEverythingThatWasQueuedBeforeItEnds) {
  std::atomic<int> done = 0;
  BoundedPool pool(3, 2);
  for (int i = 0; i < 500; ++i) pool.enqueue([&] { ++done; });
  pool.shutdown();
  EXPECT_EQ(done, 500);
}

TEST(BoundedPool, WhoFindsTheQueueFullWaits) {
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> begun = 0;
  BoundedPool pool(1, 2);
  pool.enqueue([&] {
    ++begun;
    open.wait();
  });
  while (begun == 0) std::this_thread::yield();
  pool.enqueue([&] { ++begun; });
  pool.enqueue([&] { ++begun; });  // now the queue is full
  std::atomic<bool> through = false;
  std::thread fourth([&] {
    pool.enqueue([&] { ++begun; });
    through = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(through);
  EXPECT_EQ(begun, 1);
  gate.set_value();
  fourth.join();
  pool.shutdown();
  EXPECT_EQ(begun, 4);
}

}  // namespace
}  // namespace metis::dashboard
