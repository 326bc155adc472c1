#include "metis/work/executor.h"

#include <tuple>

#include "metis/core/check.h"

namespace metis::work {

struct Task {
  enum class State { kWaiting, kRunning, kDone };

  Instant due;
  uint64_t sequence = 0;
  std::function<void()> run;
  bool shared = false;            // with the workers; else only who started it touches it
  State state = State::kWaiting;  // of a shared one guarded by the executor's mutex
};

bool Executor::Earlier::operator()(const TaskPtr& a, const TaskPtr& b) const {
  return std::tie(a->due, a->sequence) < std::tie(b->due, b->sequence);
}

Executor::Executor(uint32_t threads, Threads kind) {
  METIS_CHECK(threads > 0);
  if (threads == 1 && kind == Threads::kHelp) return;
  for (uint32_t i = 0; i < threads; ++i) {
    workers_.emplace_back([this] { Work(); });
  }
}

Executor::~Executor() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
}

Executor::TaskPtr Executor::Add(Instant due, std::function<void()> run) {
  auto task = std::make_shared<Task>();
  task->due = due;
  task->run = std::move(run);
  task->shared = !workers_.empty();
  if (!task->shared) return task;
  {
    std::lock_guard lock(mutex_);
    task->sequence = added_++;
    waiting_.insert(task);
  }
  changed_.notify_all();
  return task;
}

void Executor::Finish(Task& task) {
  if (!task.shared) {
    if (task.state == Task::State::kWaiting) task.run();
    task.state = Task::State::kDone;
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return task.state == Task::State::kDone; });
}

void Executor::Abandon(Task& task) {
  std::unique_lock lock(mutex_);
  if (task.state == Task::State::kWaiting) {
    std::erase_if(waiting_, [&](const TaskPtr& each) { return each.get() == &task; });
    task.state = Task::State::kDone;
  }
  changed_.wait(lock, [&] { return task.state == Task::State::kDone; });
}

void Executor::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    TaskPtr task = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    task->state = Task::State::kRunning;
    lock.unlock();
    task->run();
    task->run = nullptr;  // lets go of what the work held
    lock.lock();
    task->state = Task::State::kDone;
    changed_.notify_all();
  }
}

}  // namespace metis::work
