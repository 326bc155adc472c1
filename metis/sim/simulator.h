// A whole federation in virtual time: the controller, its learners and an observer, driven by one
// event queue. The hosts are those that run in production; only their ports are simulated: clock,
// network, disk, machines. Deterministic: the same settings, workload and seed give the same
// events, bit for bit, with any number of threads: one thread drives it, training and evaluation
// may be done by others (work/executor.h).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "metis/drivers/recorder.h"
#include "metis/federation/controller.h"
#include "metis/federation/settings.h"
#include "metis/learner/workload.h"
#include "metis/sim/faults.h"
#include "metis/sim/participant.h"
#include "metis/sim/settings.h"
#include "metis/sim/simulated_controller.h"
#include "metis/sim/world.h"
#include "metis/work/bench.h"
#include "metis/work/journal.h"

namespace metis::sim {

class Laws;

class Simulator {
 public:
  // All are borrowed for the simulator's life. Checked: the groups' learners add up to the
  // workload's.
  struct Parts {
    const federation::Settings& federation;
    const Settings& simulation;
    const learner::Workload& workload;
    FaultRates faults = {};         // none by default
    bool equal_sizes = false;       // of the learners' data: groups are not dealt in turn
    uint64_t snapshot_every = 500;  // events
    // Likewise after so many bytes of models, which the controller's log holds until then.
    uint64_t snapshot_bytes = std::numeric_limits<uint64_t>::max();
    uint32_t threads = 1;                  // that train and evaluate
    work::WorkJournal* journal = nullptr;  // keeps work done, and knows that of an earlier start
    Duration linger = {};  // how long the world continues after the federation has finished
  };
  explicit Simulator(const Parts& parts);
  ~Simulator();

  void SetRecorder(drivers::Recorder* recorder) { controller_->SetRecorder(recorder); }
  // Checks laws after every event; the run stops at the first broken one. Costs O(M N) a commit.
  void SetLaws(Laws* laws);

  // Until the federation has finished (and lingered), a law is broken, training failed, or the
  // virtual time `horizon`. `progress` is called every few hundred tasks, and after those that may
  // have waited for training; returning false ends the run there.
  void Run(Instant horizon, const std::function<bool(Instant)>& progress = {});

  Instant now() const { return world_.queue.now(); }
  const federation::Controller& controller() const { return controller_->controller(); }
  bool controller_up() const { return controller_->up(); }
  // Why training or evaluation could not go on, if so.
  const std::optional<Error>& failure() const { return world_.failure; }
  uint64_t bytes_sent() const { return world_.network.bytes_sent(); }
  // By this process; what the journal knew was not trained again.
  uint64_t examples_trained() const { return world_.examples_trained; }
  uint64_t tasks_executed() const { return world_.queue.executed(); }
  const FaultCounts& faults_struck() const { return world_.faults.struck(); }
  const std::vector<std::unique_ptr<SimulatedLearner>>& learners() const { return learners_; }
  const SimulatedObserver& observer() const { return *observer_; }
  Duration controller_ahead() const { return controller_->ahead(); }  // of the world's clock
  // The first law of conversations and hosts that was broken, whether or not laws are set.
  const std::optional<std::string>& violation() const { return world_.violation; }
  const DeviceGroup& group(uint32_t learner) const;

 private:
  // A fault that comes again and again, with that mean time between.
  void Repeat(Duration mean, uint64_t learner, std::function<void()> fault);
  void ScheduleFaults();
  void ScheduleLearnerFaults(SimulatedLearner& learner);
  void StartLearner(SimulatedLearner& learner);
  void ScheduleHealing();
  void PartitionSome();
  void LeapSomewhere();
  void CommandSomething();

  const federation::Settings& federation_;
  const Settings& simulation_;
  const Duration linger_;
  std::unique_ptr<work::Tools> tools_;
  work::ToolBench tool_bench_;
  std::unique_ptr<work::Bench> journal_bench_;
  World world_;
  std::unique_ptr<SimulatedController> controller_;
  std::vector<std::unique_ptr<SimulatedLearner>> learners_;
  std::vector<size_t> groups_;
  std::unique_ptr<SimulatedObserver> observer_;
  Laws* laws_ = nullptr;
};

}  // namespace metis::sim
