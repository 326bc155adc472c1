// Threads that do work, the earliest due first. In a simulation a machine's training begins when
// its model is known and is waited for when its virtual time is over; what lies between is computed
// side by side. Results depend on the work alone, so any number of threads gives the same run.
//
//   Executor::Job<double> job = executor.Start<double>(due, [trainer] { return Train(*trainer); });
//   ...                                  // virtual time passes
//   std::optional<double> loss = job.Take();
//
// One thread starts, takes and abandons jobs; the work itself must share nothing with other work.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "metis/core/time.h"

namespace metis::work {

struct Task;

class Executor {
 public:
  enum class Threads {
    kHelp,   // one thread means the caller's: work is done where it is waited for
    kBeside  // work is done on threads of its own, even if that is one
  };
  explicit Executor(uint32_t threads, Threads kind = Threads::kHelp);
  // Waits for what is being done; what was not begun is dropped.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Copies are of the same job.
  template <typename T>
  class Job {
   public:
    // Waits for the result; empty if the job was abandoned. Once a job.
    std::optional<T> Take() {
      executor_->Finish(*task_);
      std::unique_ptr<T> result = std::move(*result_);
      if (result == nullptr) return std::nullopt;
      return std::move(*result);
    }
    // The result is of no interest any more. On return nothing of the work is being done.
    void Abandon() {
      executor_->Abandon(*task_);
      result_->reset();
    }

   private:
    friend class Executor;
    Job() = default;

    Executor* executor_ = nullptr;
    std::shared_ptr<Task> task_;
    std::shared_ptr<std::unique_ptr<T>> result_;
  };

  template <typename T>
  Job<T> Start(Instant due, std::function<T()> work) {
    Job<T> job;
    job.executor_ = this;
    job.result_ = std::make_shared<std::unique_ptr<T>>();
    auto run = [result = job.result_, work = std::move(work)] {
      *result = std::make_unique<T>(work());
    };
    job.task_ = Add(due, std::move(run));
    return job;
  }

 private:
  using TaskPtr = std::shared_ptr<Task>;
  struct Earlier {
    bool operator()(const TaskPtr& a, const TaskPtr& b) const;
  };

  TaskPtr Add(Instant due, std::function<void()> run);
  void Finish(Task& task);
  void Abandon(Task& task);
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::set<TaskPtr, Earlier> waiting_;
  uint64_t added_ = 0;
  bool ending_ = false;
  // Constant after construction.
  std::vector<std::jthread> workers_;
};

}  // namespace metis::work
