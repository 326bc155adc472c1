// A few threads for work that may take its time (syncing a model to disk, compressing it), so that
// neither gRPC's threads nor the controller's loop wait for it. Tasks of a pool of one thread are
// done in order. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace metis::rpc {

class WorkerPool {
 public:
  using Task = std::function<void()>;

  explicit WorkerPool(size_t threads);
  ~WorkerPool();  // as Stop()

  // After Stop() a task is dropped.
  void Post(Task task);
  // Everything posted before is done, then the threads end. Not from a worker.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace metis::rpc
