// What the simulation's tests share: a small task of unequal learners, a queue that runs to a
// moment, and a script of events that the laws hear. For tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "metis/builtin/testing.h"
#include "metis/federation/settings.h"
#include "metis/federation/testing.h"
#include "metis/policy/policy.h"
#include "metis/sim/event_queue.h"
#include "metis/sim/faulty_ports.h"
#include "metis/sim/invariants.h"

namespace metis::sim {

using builtin::SmallWorkload;

inline Instant At(double seconds) { return Instant() + Duration::FromSeconds(seconds); }

// Everything due until then; the clock stands there afterwards.
inline void RunUntil(EventQueue& queue, Instant end) {
  queue.At(end, kControllerOwner, [] {});
  while (!queue.empty() && queue.next() <= end) queue.RunNext();
}

inline federation::Settings SmallFederation(std::string_view policy, uint32_t learners) {
  federation::Settings settings;
  settings.policy = *policy::PolicyNamed(policy);
  settings.membership.learners = learners;
  settings.membership.max_learners = 20;
  policy::Set(settings, "validation.deadline", Duration::Seconds(20));
  return settings;
}

// A real controller whose actions the invariants hear, doctored on the way where a test says so.
class Script {
 public:
  explicit Script(const federation::Settings& settings)
      : harness(settings),
        invariants(harness.settings(), harness.initial(), harness.models().pool()) {}

  void Hear() {
    std::vector<federation::Action> actions = harness.actions();
    if (doctor) doctor(actions);
    const auto& [time, event] = harness.history().back();
    invariants.Handled(time, event, actions, harness.controller());
  }
  void JoinAll() {
    for (uint32_t k = 0; k < harness.settings().membership.learners; ++k) {
      harness.Join(k);
      Hear();
    }
  }
  federation::UpdateReceived Updating(uint32_t learner, uint64_t sequence, float value,
                                      uint64_t steps) {
    federation::UpdateReceived update = harness.Updating(learner, sequence, value, steps);
    update.cycle.epochs = 4;
    update.cycle.staleness = steps;
    return update;
  }
  void Update(uint32_t learner, uint64_t sequence, float value, uint64_t steps) {
    harness.Send(Updating(learner, sequence, value, steps));
    Hear();
  }
  void Answer(uint32_t evaluator, const federation::UpdateId& id, uint64_t right) {
    harness.Answer(evaluator, id, right);
    Hear();
  }
  // In the commits among the actions from now on.
  void Doctor(std::function<void(federation::CommunityCommitted&)> change) {
    doctor = [change](std::vector<federation::Action>& actions) {
      for (federation::Action& action : actions) {
        if (auto* commit = std::get_if<federation::CommunityCommitted>(&action)) change(*commit);
      }
    };
  }
  std::string Violation() const { return invariants.violation().value_or(""); }

  federation::Harness harness;
  Invariants invariants;
  std::function<void(std::vector<federation::Action>&)> doctor;
};

// Takes every action of type T out of what the invariants hear.
template <typename T>
void Drop(std::vector<federation::Action>& actions) {
  std::erase_if(actions,
                [](const federation::Action& action) { return std::holds_alternative<T>(action); });
}

}  // namespace metis::sim
