#include "metis/drivers/event_loop.h"

#include <chrono>

#include "metis/core/check.h"

namespace metis::drivers {
namespace {

int64_t MonotonicNanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

EventLoop::EventLoop(Instant origin) : origin_(origin), started_ns_(MonotonicNanoseconds()) {}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Start() {
  METIS_CHECK(!thread_.joinable());
  thread_ = std::thread([this] { Run(); });
}

Instant EventLoop::now() const {
  return origin_ + Duration::Nanoseconds(MonotonicNanoseconds() - started_ns_);
}

bool EventLoop::on_loop() const { return running_ == std::this_thread::get_id(); }

void EventLoop::Post(Task task) {
  {
    std::scoped_lock lock(mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void EventLoop::At(Instant due, Task task) {
  {
    std::scoped_lock lock(mutex_);
    if (stopped_) return;
    timers_.emplace(std::pair(due, next_timer_++), std::move(task));
  }
  wake_.notify_one();
}

void EventLoop::Stop() {
  std::deque<Task> dropped_tasks;
  std::map<std::pair<Instant, uint64_t>, Task> dropped_timers;
  {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
    dropped_tasks.swap(tasks_);
    dropped_timers.swap(timers_);
  }
  wake_.notify_one();
  METIS_CHECK(!on_loop());
  if (thread_.joinable()) thread_.join();
}

// A timer that is due goes before tasks: under a flood of messages deadlines still hold.
void EventLoop::Run() {
  running_ = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    Task task;
    if (!timers_.empty() && timers_.begin()->first.first <= now()) {
      task = std::move(timers_.extract(timers_.begin()).mapped());
    } else if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    } else if (timers_.empty()) {
      wake_.wait(lock);
      continue;
    } else {
      const Duration left = timers_.begin()->first.first - now();
      wake_.wait_for(lock, std::chrono::nanoseconds(left.nanoseconds()));
      continue;
    }
    lock.unlock();
    task();
    task = nullptr;  // whatever it holds is let go outside the lock
    lock.lock();
  }
}

}  // namespace metis::drivers
