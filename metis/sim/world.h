// What the machines of a simulated world share: virtual time, links, faults, threads that do their
// work, and what was found wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/core/text.h"
#include "metis/federation/controller.h"
#include "metis/federation/event.h"
#include "metis/sim/event_queue.h"
#include "metis/sim/faults.h"
#include "metis/sim/network.h"
#include "metis/work/bench.h"
#include "metis/work/executor.h"

namespace metis::sim {

// Hears of everything that the controller does; implemented by the laws.
class ControllerWatch {
 public:
  virtual ~ControllerWatch() = default;
  // After an event was handled and before anything that it causes leaves; or, where the process
  // died between the two, after the restart that folded it.
  virtual void Handled(Instant now, const federation::Event& event,
                       const std::vector<federation::Action>& actions,
                       const federation::Controller& controller) = 0;
  // After a restart from snapshot and log.
  virtual void Restarted(const federation::Controller& controller) = 0;
  // The disk was copied; it was put back as it was then.
  virtual void Copied() {}
  virtual void PutBack() {}
};

// Hears of every trigger decision; implemented by the laws.
class CycleWatch {
 public:
  virtual ~CycleWatch() = default;
  // A life of a learner begins; then each of its epochs, whether it asked, and the cycle's record
  // so far.
  virtual void LifeBegins(LearnerId learner, const std::string& group) = 0;
  virtual void EpochDecided(LearnerId learner, const federation::CycleRecord& record,
                            bool asked) = 0;
};

struct World {
  EventQueue queue;
  FaultInjector faults;
  Network network;
  CycleWatch* cycles = nullptr;  // may stay null
  work::Bench* bench = nullptr;  // where work is done
  uint64_t jobs_taken = 0;
  uint64_t examples_trained = 0;         // computed, not found in a journal
  std::optional<Error> failure;          // training or evaluation failed: the run cannot continue
  std::optional<std::string> violation;  // the first law of conversations and hosts that was broken
  work::Executor executor;               // last: its threads end before anything else here

  World(const FaultRates& rates, uint64_t seed, uint32_t threads = 1)
      : faults(rates, seed), network(queue), executor(threads) {}

  void Broken(const std::string& what) {
    if (!violation) violation = Text("at ", Fixed(queue.now().seconds(), 3), " s: ", what);
  }
};

// A message without a model: a few fields and headers.
inline constexpr uint64_t kControlBytes = 256;

}  // namespace metis::sim
