// What participants of a simulated world share: the queue, the network, the faults, and who hears
// them.
#pragma once

#include <optional>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/drivers/transport.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/sim/event_queue.h"
#include "metis/sim/executor.h"
#include "metis/sim/faults.h"
#include "metis/sim/network.h"
#include "metis/sim/work_journal.h"

namespace metis::sim {

class ControllerInbox {
 public:
  virtual ~ControllerInbox() = default;
  virtual void Receive(const drivers::FromParticipant& message) = 0;
};

// Hears of every trigger decision; implemented by the invariants.
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
  ControllerInbox* controller = nullptr;
  CycleWatch* cycles = nullptr;    // may stay null
  WorkJournal* journal = nullptr;  // of work done; may stay null
  uint64_t jobs_taken = 0;
  uint64_t examples_trained = 0;  // computed, not found in the journal
  std::optional<Error> failure;   // training or evaluation failed: the run cannot go on
  Executor executor;              // last: its threads end before anything else here

  World(const FaultRates& rates, uint64_t seed, uint32_t threads = 1)
      : faults(rates, seed), network(queue, faults), executor(threads) {}

  // Over the participant's link, to the controller.
  void SendToController(drivers::FromParticipant message, uint64_t bytes) {
    LearnerId from = message.from;
    network.Send(from, bytes, from.value(),
                 [this, message = std::move(message)] { controller->Receive(message); });
  }
};

// A message without a model: a few fields and headers.
inline constexpr uint64_t kControlBytes = 256;

}  // namespace metis::sim
