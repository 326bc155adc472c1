// The port through which a host has work done: another thread, process or machine behind it. One
// thread, the host's loop, starts and abandons work and hears of its results.
#pragma once

#include <cstdint>
#include <functional>

#include "metis/core/result.h"
#include "metis/work/work.h"

namespace metis::work {

class Worker {
 public:
  using JobId = uint64_t;
  using Done = std::function<void(Result<WorkResult>)>;

  virtual ~Worker() = default;
  // `done` is called on the loop, later, once; never if the job is abandoned before.
  virtual JobId Start(Work work, Done done) = 0;
  // The result is of no interest any more; what is being done for it ends as soon as it can. Of no
  // effect once `done` was called.
  virtual void Abandon(JobId job) = 0;
};

}  // namespace metis::work
