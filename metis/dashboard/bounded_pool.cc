#include "metis/dashboard/bounded_pool.h"

#include <utility>

namespace metis::dashboard {

BoundedPool::BoundedPool(size_t threads, size_t queue) : queue_(queue) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

BoundedPool::~BoundedPool() { shutdown(); }

void BoundedPool::enqueue(std::function<void()> job) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return jobs_.size() < queue_ || ends_; });
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void BoundedPool::shutdown() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void BoundedPool::Work() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !jobs_.empty() || ends_; });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    changed_.notify_all();
    job();
  }
}

}  // namespace metis::dashboard
