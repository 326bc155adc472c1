// Does a simulated machine's work: it is computed for real, by the world's threads, and takes the
// virtual time that this machine needs for it. Owned by one machine's process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>

#include "metis/sim/machine.h"
#include "metis/sim/world.h"
#include "metis/work/executor.h"
#include "metis/work/worker.h"

namespace metis::sim {

// How long work takes on a machine.
struct Pace {
  Duration epoch;
  Duration evaluation;  // of one model on the validation set

  Duration Of(const work::Work& work) const;
};

// What takes longer than any run takes forever: an Instant has room for that.
Duration TimeOf(uint64_t batches, Duration each);

class VirtualWorker final : public work::Worker {
 public:
  // `site` numbers the data; empty for an observer, whose work names parts of the test set.
  VirtualWorker(World& world, Machine& machine, Pace pace, std::optional<uint32_t> site)
      : world_(world), machine_(machine), pace_(pace), site_(site) {}
  ~VirtualWorker() override { AbandonAll(); }

  JobId Start(work::Work work, Done done) override;
  void Abandon(JobId job) override;
  void AbandonAll();
  // Evaluations under way.
  size_t evaluations() const { return evaluations_; }

 private:
  struct Job {
    work::Kind kind;
    std::stop_source stop;
    work::Executor::Job<Result<work::WorkResult>> computed;
  };
  void Due(JobId id, const Done& done);
  void Forget(std::map<JobId, Job>::iterator job);

  World& world_;
  Machine& machine_;
  const Pace pace_;
  const std::optional<uint32_t> site_;
  std::map<JobId, Job> jobs_;
  JobId next_ = 1;
  size_t evaluations_ = 0;
};

}  // namespace metis::sim
