#include "metis/sim/virtual_worker.h"

#include <algorithm>
#include <utility>

#include "metis/core/text.h"

namespace metis::sim {

using work::Kind;

Duration TimeOf(uint64_t batches, Duration each) {
  const int64_t most = Duration::Forever().nanoseconds();
  const bool fits = each.IsZero() || batches <= static_cast<uint64_t>(most / each.nanoseconds());
  return fits ? static_cast<int64_t>(batches) * each : Duration::Forever();
}

Duration Pace::Of(const work::Work& work) const {
  switch (work.kind) {
    case Kind::kEpoch:
      return work.evaluate ? std::min(epoch + evaluation, Duration::Forever()) : epoch;
    case Kind::kModel:
      return work.evaluate ? evaluation : Duration();
    case Kind::kEvaluation:
      return evaluation;
    case Kind::kTest:
    case Kind::kState:
      break;
  }
  return Duration();
}

void VirtualWorker::AbandonAll() {
  while (!jobs_.empty()) Abandon(jobs_.begin()->first);
}

work::Worker::JobId VirtualWorker::Start(work::Work work, Done done) {
  const JobId id = next_++;
  if (site_) work.who = *site_;
  const Duration taken = pace_.Of(work);
  const Kind kind = work.kind;
  work.due = world_.queue.now() + taken;
  std::stop_source stop;
  auto computed = world_.executor.Start<Result<work::WorkResult>>(
      work.due, [bench = world_.bench, work = std::move(work), token = stop.get_token()] {
        return bench->Do(work, token);
      });
  if (kind == Kind::kEvaluation) ++evaluations_;
  jobs_.emplace(id, Job{kind, std::move(stop), std::move(computed)});
  machine_.After(taken, [this, id, done = std::move(done)] { Due(id, done); });
  return id;
}

void VirtualWorker::Forget(std::map<JobId, Job>::iterator job) {
  if (job->second.kind == Kind::kEvaluation) --evaluations_;
  jobs_.erase(job);
}

void VirtualWorker::Due(JobId id, const Done& done) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return;  // abandoned
  Result<work::WorkResult> result = *found->second.computed.Take();
  Forget(found);
  ++world_.jobs_taken;
  if (result) {
    world_.examples_trained += result->examples;
    return done(std::move(result));
  }
  world_.failure =
      result.error().In(site_ ? Text("learner ", *site_) : std::string("the observer"));
}

void VirtualWorker::Abandon(JobId id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  found->second.stop.request_stop();
  found->second.computed.Abandon();
  Forget(found);
}

}  // namespace metis::sim
