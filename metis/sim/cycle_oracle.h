// When a learner should have asked: the books of its cycles, from which the chosen trigger's oracle
// works it out (metis/policy). Of one Invariants.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "metis/federation/event.h"
#include "metis/federation/oracle.h"
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
  const federation::Settings& settings_;
  std::map<LearnerId, federation::CycleFacts> lives_;
};

}  // namespace metis::sim
