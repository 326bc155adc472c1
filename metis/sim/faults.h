// What goes wrong in a simulated world, and how often. Rates are zero by default; a swarm draws
// them from a seed, most of them switched off in most runs, because rare combinations hide behind
// frequent faults. Every draw is keyed: the same seed injects the same faults.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "metis/core/ids.h"
#include "metis/core/random.h"
#include "metis/core/time.h"

namespace metis::sim {

struct FaultRates {
  // Of each message, in [0, 1].
  double loss = 0;
  double duplication = 0;
  double delay = 0;  // held back by up to `max_delay`, and so overtaken by later ones
  Duration max_delay = Duration::Seconds(20);

  // Mean time between, zero: never. For each learner: crash and return in a new life, freeze, leave
  // and join again; for all: a partition that cuts some learners off.
  Duration learner_crash = {};
  Duration learner_pause = {};
  Duration learner_leave = {};
  Duration partition = {};
  Duration controller_crash = {};
  Duration controller_pause = {};
  Duration operator_command = {};              // pause, resume, withdraw, seldom stop
  Duration max_outage = Duration::Minutes(4);  // of any of these

  // Of each evaluation and update, in [0, 1].
  double silent_evaluator = 0;
  double forged_counts = 0;
  double nan_update = 0;
  double huge_update = 0;
  double stale_update = 0;  // an update of an earlier life is sent again

  // One learner goes away for good once the world has healed, sometimes with a last sign of a life
  // that never joins; the others must go on.
  bool permanent_loss = false;

  // Of each learner's model that the controller reads while it handles an event, in [0, 1]: it
  // cannot be read, and the controller must be opened again.
  double unreadable_model = 0;

  // Of each event, in [0, 1]: the controller's log has no room for it.
  double log_refusal = 0;
  // Mean time between leaps of a machine's clock, by up to `max_outage`; zero: never.
  Duration clock_leap = {};
  // Learners begin up to so much later than the federation.
  Duration late_start = {};
  // Mean time between copies of the controller's disk; every other crash afterwards puts the latest
  // copy back. Zero: never. Not for runs that are recorded: a record does not go back.
  Duration disk_copy = {};

  // Nothing goes wrong from then on; what is down comes back.
  Duration heal_after = Duration::Forever();
};

// Draws rates for a swarm run of the seed.
FaultRates DrawFaultRates(uint64_t seed);

// What can strike, counted where it does harm: a partition for each message that it swallows, a
// pause for each thing that has to wait for its end.
enum class Fault {
  kLoss,
  kDuplication,
  kDelay,
  kPartition,
  kLearnerCrash,
  kLearnerPause,
  kLearnerLeave,
  kControllerCrash,
  kControllerPause,
  kSilentEvaluator,
  kForgedCounts,
  kNanUpdate,
  kHugeUpdate,
  kStaleUpdate,
  kPermanentLoss,
  kUnreadableModel,
  kLogRefusal,
  kClockLeap,
  kLateStart,
  kOlderCopy,
};
constexpr auto EnumNames(Fault) {
  return std::array<std::string_view, 20>{"loss",
                                          "duplication",
                                          "delay",
                                          "partition",
                                          "learner-crash",
                                          "learner-pause",
                                          "learner-leave",
                                          "controller-crash",
                                          "controller-pause",
                                          "silent-evaluator",
                                          "forged-counts",
                                          "nan-update",
                                          "huge-update",
                                          "stale-update",
                                          "permanent-loss",
                                          "unreadable-model",
                                          "log-refusal",
                                          "clock-leap",
                                          "late-start",
                                          "older-copy"};
}
// How often each has struck, in the order of Fault.
using FaultCounts = std::array<uint64_t, EnumNames(Fault{}).size()>;

// Decides for single messages and moments. Keyed by (seed, learner, count of the draw).
class FaultInjector {
 public:
  FaultInjector(const FaultRates& rates, uint64_t seed) : rates_(rates), seed_(seed) {}

  const FaultRates& rates() const { return rates_; }
  bool Active(Instant now) const { return now < Instant() + rates_.heal_after; }
  // A stream of its own for each decision.
  Random Next(uint64_t learner);
  // True, and counted, with `probability`, while faults are active.
  bool Strikes(Fault fault, double probability, uint64_t learner, Instant now);
  void Count(Fault fault) { ++struck_[static_cast<size_t>(fault)]; }
  const FaultCounts& struck() const { return struck_; }
  // The time to the next one of a fault with that mean time between, at least a second.
  Duration Gap(Duration mean, uint64_t learner);
  Duration Outage(uint64_t learner);

 private:
  FaultRates rates_;
  uint64_t seed_;
  uint64_t draws_ = 0;
  FaultCounts struck_{};
};

}  // namespace metis::sim
