// A whole federation in virtual time: the controller, its learners and an observer, driven by one
// event queue. The federation code is the one that runs in production; only clock, network and disk
// are simulated. Deterministic: the same settings, workload and seed give the same events, bit for
// bit, with any number of threads: one thread drives it, training and evaluation may be done by
// others (executor.h). Training that leaves more behind than a model must say so (train_ahead).
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
#include "metis/sim/controller_node.h"
#include "metis/sim/faults.h"
#include "metis/sim/learner_node.h"
#include "metis/sim/node.h"
#include "metis/sim/observer_node.h"
#include "metis/sim/settings.h"
#include "metis/sim/workload.h"

namespace metis::sim {

class Invariants;

class Simulator {
 public:
  // All are borrowed for the simulator's life. Checked: the groups' learners add up to the
  // workload's.
  struct Parts {
    const federation::Settings& federation;
    const Settings& simulation;
    const Workload& workload;
    FaultRates faults = {};         // none by default
    bool equal_sizes = false;       // of the learners' data: groups are not dealt in turn
    uint64_t snapshot_every = 500;  // events
    // Likewise after so many bytes of models, which the controller's log holds until then.
    uint64_t snapshot_bytes = std::numeric_limits<uint64_t>::max();
    uint32_t threads = 1;  // that train and evaluate
    // Epochs begin before they are due. False where one leaves more behind than its model, such as
    // momentum that is kept: an epoch that is abandoned must not have begun. Learners then train
    // one after the other; evaluations and tests are still done beside it.
    bool train_ahead = true;
    WorkJournal* journal = nullptr;  // keeps the work done, and knows that of an earlier start
    Duration linger = {};            // how long the world goes on after the federation has finished
  };
  explicit Simulator(const Parts& parts);
  ~Simulator();

  void SetRecorder(drivers::Recorder* recorder) { controller_->SetRecorder(recorder); }
  // Checks laws after every event; the run stops at the first broken one. Costs O(M N) a commit.
  void SetInvariants(Invariants* invariants);

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
  const std::vector<std::unique_ptr<LearnerNode>>& learners() const { return learners_; }
  const DeviceGroup& group(LearnerId learner) const;

 private:
  // A fault that comes again and again, with that mean time between.
  void Repeat(Duration mean, uint64_t learner, std::function<void()> fault);
  void ScheduleFaults();
  void ScheduleLearnerFaults(LearnerNode& node);
  void ScheduleHealing();
  void PartitionSome();
  void CommandSomething();

  const federation::Settings& federation_;
  const Settings& simulation_;
  const Duration linger_;
  World world_;
  std::unique_ptr<ControllerNode> controller_;
  std::vector<std::unique_ptr<LearnerNode>> learners_;
  std::vector<size_t> groups_;
  std::unique_ptr<ObserverNode> observer_;
  Invariants* invariants_ = nullptr;
};

}  // namespace metis::sim
