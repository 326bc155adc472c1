#include "metis/drivers/thread_worker.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace metis::drivers {
namespace {

void WaitFor(double seconds, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
}

}  // namespace

ThreadWorker::ThreadWorker(Loop& loop, work::Bench& bench, uint32_t threads, double slowdown)
    : loop_(loop),
      bench_(bench),
      slowdown_(slowdown),
      executor_(threads, work::Executor::Threads::kBeside) {}

ThreadWorker::~ThreadWorker() {
  for (auto& [id, job] : jobs_) job.stop.request_stop();
}

work::Worker::JobId ThreadWorker::Start(work::Work work, Done done) {
  const JobId id = next_++;
  Job& job = jobs_[id];
  job.done = std::move(done);
  executor_.Start<bool>(work.due, [this, id, work = std::move(work), stop = job.stop.get_token()] {
    if (stop.stop_requested()) return false;
    const Instant begun = loop_.now();
    Result<work::WorkResult> result = bench_.Do(work, stop);
    if (slowdown_ > 0 && work.kind == work::Kind::kEpoch) {
      WaitFor(slowdown_ * (loop_.now() - begun).seconds(), stop);
    }
    loop_.Post(
        [this, id, result = std::move(result)]() mutable { Finished(id, std::move(result)); });
    return true;
  });
  return id;
}

void ThreadWorker::Finished(JobId id, Result<work::WorkResult> result) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return;  // abandoned meanwhile
  const Done done = std::move(found->second.done);
  jobs_.erase(found);
  done(std::move(result));
}

void ThreadWorker::Abandon(JobId id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  found->second.stop.request_stop();
  jobs_.erase(found);
}

}  // namespace metis::drivers
