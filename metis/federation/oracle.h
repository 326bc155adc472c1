// What the laws of the simulation ask of a policy's parts: what should have come out, worked out
// again in the plainest way. A part's file gives its oracle beside its code, with arithmetic of its
// own: plain doubles from the definition, never a call of what it judges. metis/sim keeps the books
// that the facts come from. For simulations and tests only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"

namespace metis::federation {

// What is known of an update from the events alone, as of when it was weighed.
struct WeighingFacts {
  LearnerId learner;
  uint64_t training_examples = 0;
  uint64_t steps = 0;
  uint64_t staleness = 0;
  CycleRecord cycle;
  // The confusion counts of those who answered in time, and of its learner if that is set; empty
  // where nobody evaluates.
  std::vector<std::vector<double>> pooled;
  double coverage = 1;  // share of the asked evaluators' examples that answered
  double previous = 0;  // its learner's p until then; 0: none
};

// A cycle after one of its epochs, as the learner reported it.
struct CycleFacts {
  std::string group;
  std::vector<double> staleness;  // of the cycles before that asked, in this life
  CycleRecord record;
};

// What the aggregate should be after every commit.
class AggregatorOracle {
 public:
  virtual ~AggregatorOracle() = default;

  struct Term {
    LearnerId learner;
    double contribution = 0;
    ModelPtr model;
  };
  virtual void Replaced(const Term& term) = 0;
  virtual void ReplacedAll(const std::vector<Term>& terms) = 0;
  virtual void Withdrawn(LearnerId learner) = 0;

  virtual const std::vector<double>& aggregate() const = 0;
  virtual double total_contribution() const = 0;
  virtual double contribution(LearnerId learner) const = 0;  // 0: none
  // As Aggregator::OwnWeight.
  virtual std::optional<double> OwnWeight(uint64_t /*version_staleness*/) const {
    return std::nullopt;
  }
};

// What the community model should be after every commit.
class OptimizerOracle {
 public:
  virtual ~OptimizerOracle() = default;
  virtual std::vector<double> Step(const std::vector<double>& community,
                                   const std::vector<double>& aggregate) = 0;
};

// What a protocol may take up and when it may commit. Each answer says what is wrong, if anything.
class ProtocolOracle {
 public:
  virtual ~ProtocolOracle() = default;

  virtual void NewLife(LearnerId /*learner*/) {}
  virtual void Refused(const RejectUpdate& /*rejection*/) {}
  // The federation runs; for the first time: its beginning.
  virtual void Runs(const std::vector<LearnerId>& /*live*/, Instant /*now*/) {}
  virtual void Fired(const TimerId& /*timer*/, Instant /*now*/) {}
  virtual std::optional<std::string> Accepted(const UpdateReceived& /*update*/) const {
    return std::nullopt;
  }
  // Not called for withdrawals.
  virtual std::optional<std::string> Committed(const CommunityCommitted& commit,
                                               const std::vector<LearnerId>& live, Instant now) = 0;
};

}  // namespace metis::federation
