// A few threads and the queue of tasks before them, first come, first served. For work that gRPC's
// threads, the controller's loop or whoever accepts connections must not wait for: syncing a model
// to disk, compressing it, answering a browser. With a bound on the queue no flood of tasks takes
// more than that: whoever posts waits. Tasks of a pool of one thread are done in order.
// Thread-safe.
//
// The two others of their kind are for something else: drivers::EventLoop is one thread with timers
// and a clock, and drops what is left when it stops; work::Executor does what is due first, gives
// back results, and lets jobs be abandoned.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace metis::machine {

class WorkerPool {
 public:
  using Task = std::function<void()>;

  // `queue`: so many tasks may wait.
  explicit WorkerPool(size_t threads, size_t queue = std::numeric_limits<size_t>::max());
  ~WorkerPool();  // as Stop()

  // Waits while the queue is full. After Stop() a task is dropped.
  void Post(Task task);
  // Everything posted before is done, then the threads end. Not from a worker.
  void Stop();

 private:
  void Run();

  const size_t queue_;
  std::mutex mutex_;
  std::condition_variable wake_;  // there is a task
  std::condition_variable room_;  // there is room for one
  std::deque<Task> tasks_;        // guarded by mutex_
  bool stopped_ = false;          // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace metis::machine
