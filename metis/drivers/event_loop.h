// A loop on a thread of its own: tasks in the order in which they were posted, and timers when they
// are due. Its clock is monotonic and begins at `origin`, so that a federation that was restarted
// continues where it stopped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "metis/core/time.h"
#include "metis/drivers/loop.h"

namespace metis::drivers {

class EventLoop final : public Loop {
 public:
  explicit EventLoop(Instant origin = Instant());
  ~EventLoop() override;  // as Stop()

  // Tasks posted before Start() wait for it.
  void Start();
  // After Stop() a task is dropped.
  void Post(Task task) override;
  void At(Instant due, Task task) override;
  // Time since the construction, on top of the origin.
  Instant now() const override;
  // The task under way ends, the others are dropped, the thread is joined. Not from the loop.
  void Stop();
  bool on_loop() const override;

 private:
  void Run();

  const Instant origin_;
  const int64_t started_ns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::map<std::pair<Instant, uint64_t>, Task> timers_;
  uint64_t next_timer_ = 0;
  bool stopped_ = false;
  std::thread thread_;
  std::atomic<std::thread::id> running_;  // the thread itself says it, before its first task
};

}  // namespace metis::drivers
