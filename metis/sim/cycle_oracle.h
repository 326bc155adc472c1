// When a learner should have asked, worked out again from the losses and staleness of its cycles
// (paper, section V), in the most literal way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metis/federation/event.h"
#include "metis/federation/settings.h"

namespace metis::sim {

class CycleOracle {
 public:
  explicit CycleOracle(const federation::Settings& settings) : settings_(settings) {}

  void LifeBegins(LearnerId learner, const std::string& group);
  // What is wrong with this decision, if anything.
  std::optional<std::string> EpochDecided(LearnerId learner, const federation::CycleRecord& record,
                                          bool asked);

 private:
  struct Life {
    federation::CycleThresholds thresholds;
    std::vector<double> staleness;  // of the cycles that asked
  };

  using Reason = std::optional<federation::CycleReason>;

  // Why to ask now; empty: not yet.
  Reason ShouldAsk(const Life& life, const federation::CycleRecord& record) const;
  double StalenessLimit(const Life& life) const;
  // Failures of the whole cycle; `last` is why its latest epoch was one.
  static uint64_t Failures(const federation::CycleThresholds& thresholds,
                           const federation::CycleRecord& record, Reason& last);

  const federation::Settings& settings_;
  std::map<LearnerId, Life> lives_;
};

}  // namespace metis::sim
