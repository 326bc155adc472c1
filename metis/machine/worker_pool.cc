#include "metis/machine/worker_pool.h"

#include <utility>

namespace metis::machine {

WorkerPool::WorkerPool(size_t threads, size_t queue) : queue_(queue) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() { Stop(); }

void WorkerPool::Post(Task task) {
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return stopped_ || tasks_.size() < queue_; });
    if (stopped_) return;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void WorkerPool::Stop() {
  {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  room_.notify_all();
  for (std::thread& thread : std::exchange(threads_, {})) thread.join();
}

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    room_.notify_one();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace metis::machine
