// The threads that answer the dashboard's requests: a fixed number, and a bounded queue before
// them. When the queue is full the one who accepts connections waits, and further ones stay with
// the kernel: no flood of requests takes more threads of the controller than this.
// Thread-safe.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace metis::dashboard {

class BoundedPool : public httplib::TaskQueue {
 public:
  BoundedPool(size_t threads, size_t queue);
  ~BoundedPool() override;

  // Waits while the queue is full.
  void enqueue(std::function<void()> job) override;
  // Carries out what is queued, then ends the threads.
  void shutdown() override;

 private:
  void Work();

  const size_t queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  bool ends_ = false;                       // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace metis::dashboard
