// Has work done by threads of this process, in the order in which it was started. Owned by one
// loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>

#include "metis/drivers/loop.h"
#include "metis/work/bench.h"
#include "metis/work/executor.h"
#include "metis/work/worker.h"

namespace metis::drivers {

class ThreadWorker final : public work::Worker {
 public:
  // Loop and bench outlive it. After an epoch that took t it waits slowdown * t before it answers:
  // makes a slow machine of a fast one.
  ThreadWorker(Loop& loop, work::Bench& bench, uint32_t threads, double slowdown = 0);
  // Abandons everything and waits for the threads. The loop must have stopped.
  ~ThreadWorker() override;

  JobId Start(work::Work work, Done done) override;
  void Abandon(JobId job) override;

 private:
  struct Job {
    std::stop_source stop;
    Done done;
  };

  void Finished(JobId job, Result<work::WorkResult> result);

  // Constant after construction.
  Loop& loop_;
  work::Bench& bench_;
  const double slowdown_;

  // The loop's.
  std::map<JobId, Job> jobs_;
  JobId next_ = 1;

  work::Executor executor_;  // last: its threads end before what they use
};

}  // namespace metis::drivers
