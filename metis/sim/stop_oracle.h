// When a federation should end, worked out again from the events: time since its beginning, rounds,
// requests, and the accuracy of the tests that were asked for. Of one Invariants; O(tests) an
// event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/federation/settings.h"

namespace metis::sim {

class StopOracle {
 public:
  explicit StopOracle(const federation::Settings& settings) : settings_(settings) {}

  void Joined(const federation::LearnerJoined& event);  // a new life
  void Runs(Instant now);                               // for the first time: its beginning
  void Asked(const federation::RequestTest& request) { under_way_.insert(request.version); }
  // Of an observer in its present life. Counts that contradict its test set are no test.
  void Tested(const federation::CommunityTested& event);
  void Committed(const federation::CommunityCommitted& commit);
  void Ordered() { ordered_ = true; }  // an operator's stop

  // What is wrong with the end, if anything.
  std::optional<std::string> Ended(federation::StopReason reason, Instant now);
  // What is wrong with going on after an event, if anything. Time is judged by due().
  std::optional<std::string> GoesOn() const;

  bool ended() const { return ended_; }
  // When its duration is over; nothing without one, or before the beginning.
  std::optional<Instant> due() const;

 private:
  bool RoundsDone() const;
  bool RequestsDone() const;
  bool TargetReached() const;
  bool PatienceLost() const;
  std::string Describe() const;

  const federation::Settings& settings_;
  std::optional<Instant> began_;
  bool ordered_ = false;
  bool ended_ = false;
  uint64_t rounds_ = 0;
  uint64_t requests_ = 0;
  std::map<LearnerId, std::vector<uint64_t>> test_sets_;  // examples of each class
  std::set<Version> under_way_;
  std::vector<double> accuracies_;  // of the tests that count, in the order of their answers
};

}  // namespace metis::sim
