#include "metis/drivers/event_loop.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace metis::drivers {
namespace {

TEST(EventLoop, TasksAreDoneInTheOrderOfTheirPostingOnOneThread) {
  EventLoop loop;
  std::vector<int> done;
  std::promise<void> last;
  for (int i = 0; i < 100; ++i) {
    loop.Post([&, i] {
      EXPECT_TRUE(loop.on_loop());
      done.push_back(i);
    });
  }
  EXPECT_TRUE(done.empty()) << "nothing happens before Start";
  loop.Start();
  loop.Post([&] { last.set_value(); });
  last.get_future().wait();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  EXPECT_FALSE(loop.on_loop());
}

TEST(EventLoop, TimersFireInTheOrderOfTheirTimesAndNeverEarly) {
  const Instant origin = Instant() + Duration::Hours(3);
  EventLoop loop(origin);
  loop.Start();
  EXPECT_GE(loop.now(), origin);
  std::vector<int> fired;
  std::promise<void> last;
  const Instant start = loop.now();
  auto at = [&](int milliseconds, int name) {
    const Instant due = start + Duration::Milliseconds(milliseconds);
    loop.At(due, [&, due, name] {
      EXPECT_GE(loop.now(), due);
      fired.push_back(name);
      if (fired.size() == 4) last.set_value();
    });
  };
  at(30, 3);
  at(10, 1);
  at(20, 2);
  at(-5, 0);
  last.get_future().wait();
  EXPECT_EQ(fired, (std::vector<int>{0, 1, 2, 3}));
}

TEST(EventLoop, AFloodOfTasksDoesNotHoldUpATimer) {
  EventLoop loop;
  std::promise<void> fired;
  std::atomic<bool> over = false;
  std::function<void()> again = [&] {
    if (!over) loop.Post(again);
  };
  loop.Post(again);
  loop.At(loop.now() + Duration::Milliseconds(5), [&] {
    over = true;
    fired.set_value();
  });
  loop.Start();
  fired.get_future().wait();
  loop.Stop();  // one more of them may be left, and what it looks at goes first
}

TEST(EventLoop, StoppingDropsWhatIsLeft) {
  EventLoop loop;
  auto alive = std::make_shared<int>(1);
  loop.At(loop.now() + Duration::Hours(1), [alive] { FAIL(); });
  loop.Start();
  loop.Stop();
  EXPECT_EQ(alive.use_count(), 1);
  loop.Post([alive] { FAIL(); });
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace metis::drivers
