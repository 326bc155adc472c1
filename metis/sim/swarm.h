// Swarm testing: a seed draws a whole scenario (policy, learners, speeds, settings, fault rates),
// it runs one virtual hour with every law checked after every event, first under faults (safety),
// then healed (liveness: every learner that is up must get updates through again, or hear that the
// federation has finished).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metis/data/partition.h"
#include "metis/drivers/recorder.h"
#include "metis/federation/settings.h"
#include "metis/learner/settings.h"
#include "metis/sim/faults.h"
#include "metis/sim/settings.h"

namespace metis::sim {

struct Scenario {
  uint64_t seed = 0;
  federation::Settings federation;
  learner::TrainingSettings training;
  data::PartitionSettings partition;
  Settings simulation;
  FaultRates faults;
  uint64_t snapshot_every = 100;
  Duration length = Duration::Hours(1);
};

Scenario DrawScenario(uint64_t seed);

struct SwarmOutcome {
  std::optional<std::string> failure;  // the first broken law, with its time; or why it ended early
  uint64_t commits = 0;
  uint64_t tasks = 0;       // executed in virtual time
  uint64_t state_hash = 0;  // of the controller at the end
  FaultCounts struck{};
};

// `recorder` may be null.
SwarmOutcome RunScenario(const Scenario& scenario, drivers::Recorder* recorder = nullptr);

}  // namespace metis::sim
