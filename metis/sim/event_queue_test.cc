#include "metis/sim/event_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

void RunAllUntil(EventQueue& queue, Instant end) {
  while (!queue.empty() && queue.next() <= end) queue.RunNext();
}

TEST(EventQueue, RunsByTimeThenOwnerThenOrderOfScheduling) {
  EventQueue queue;
  std::string order;
  auto note = [&](char c) { return [&order, c] { order.push_back(c); }; };
  queue.At(At(2), 1, note('d'));
  queue.At(At(1), kControllerOwner, note('c'));
  queue.At(At(1), 3, note('a'));
  queue.At(At(1), 3, note('b'));
  queue.At(At(2), 0, note('x'));
  RunAllUntil(queue, At(1));
  EXPECT_EQ(order, "abc");
  RunAllUntil(queue, At(5));
  EXPECT_EQ(order, "abcxd");
  EXPECT_EQ(queue.executed(), 5u);
}

TEST(EventQueue, TheClockJumpsFromTaskToTaskAndStaysThere) {
  EventQueue queue;
  EXPECT_EQ(queue.now(), Instant());
  queue.After(Duration::Minutes(90), 4, [] {});
  queue.At(At(0.25), 9, [] {});
  EXPECT_EQ(queue.next(), At(0.25));
  queue.RunNext();
  EXPECT_EQ(queue.now(), At(0.25));
  queue.RunNext();
  EXPECT_EQ(queue.now(), At(5400));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, ATaskMayScheduleAnotherForTheSameMoment) {
  EventQueue queue;
  std::string order;
  queue.At(At(3), 2, [&] {
    order.push_back('1');
    queue.After(Duration(), 0, [&] { order.push_back('2'); });
  });
  queue.At(At(3), 5, [&] { order.push_back('3'); });
  RunAllUntil(queue, At(3));
  EXPECT_EQ(order, "123");  // owner 0 comes before owner 5, though it was scheduled later
}

TEST(EventQueueDeathTest, ThePastAndAnEmptyQueueAreRefused) {
  EventQueue queue;
  EXPECT_DEATH((void)queue.next(), "");
  EXPECT_DEATH(queue.RunNext(), "");
  queue.At(At(10), 0, [] {});
  queue.RunNext();
  EXPECT_DEATH(queue.At(At(9), 0, [] {}), "");
}

}  // namespace
}  // namespace metis::sim
