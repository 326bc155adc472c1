// The settings of a federation: what the controller and every learner session decide by.
// Plain values with sensible defaults: a default-constructed Settings runs once its policy is
// chosen (metis/policy/policy.h). metis/config reads them from TOML and has checked every range
// named here before the federation sees them.
#pragma once

#include <cstdint>
#include <optional>

#include "metis/core/time.h"
#include "metis/federation/part_key.h"

namespace metis::federation {

// What happens to a lost learner's model when its lease ends.
enum class LeaseEnd { kKeep, kWithdraw };

// The parts that a policy is made of: see part.h. They are constants of the program, and compare by
// their place.
struct ProtocolPart;
struct AggregatorPart;
struct OptimizerPart;
struct WeightingPart;
struct TriggerPart;
struct TrainersPart;
struct EvaluatorsPart;

// All are chosen before a federation sees them: metis/policy knows them by their names.
struct Policy {
  const ProtocolPart* protocol = nullptr;      // what is waited for, and who gets a new model
  const AggregatorPart* aggregator = nullptr;  // what models are made into
  const OptimizerPart* optimizer = nullptr;    // the controller's own step from model to model
  const WeightingPart* weighting = nullptr;    // where a learner's contribution p_k comes from
  const TriggerPart* trigger = nullptr;        // when a learner asks for an update
  const TrainersPart* trainers = nullptr;      // who trains in a round
  const EvaluatorsPart* evaluators = nullptr;  // who evaluates an update

  friend bool operator==(const Policy&, const Policy&) = default;
};

struct MembershipSettings {
  uint32_t learners = 10;   // N, how many are expected
  uint32_t start_with = 0;  // how many must have joined before training starts; 0: all expected
  uint32_t quorum = 1;  // fewer live learners pause the federation; the least a round closes with
  uint32_t max_learners = 1000;                // bound on joins
  Duration heartbeat = Duration::Seconds(10);  // a learner is heard at least this often
  Duration silence = Duration::Seconds(60);    // unheard for this long: lost
  Duration lease = Duration::Minutes(10);      // lost for this long: `lease_end` applies
  LeaseEnd lease_end = LeaseEnd::kKeep;

  friend bool operator==(const MembershipSettings&, const MembershipSettings&) = default;
};

// Any one that is met ends the federation.
struct StopSettings {
  std::optional<Duration> duration = std::nullopt;
  std::optional<uint64_t> rounds = std::nullopt;    // commits of a synchronous federation
  std::optional<uint64_t> requests = std::nullopt;  // update requests committed
  std::optional<double> target_accuracy = std::nullopt;
  std::optional<uint32_t> patience = std::nullopt;  // tests in a row without a new best accuracy

  friend bool operator==(const StopSettings&, const StopSettings&) = default;
};

// When the community model is tested by an observer.
struct TestSettings {
  std::optional<Duration> every = std::nullopt;          // default: 1 % of the duration
  std::optional<uint64_t> every_commits = std::nullopt;  // also after every so many commits

  friend bool operator==(const TestSettings&, const TestSettings&) = default;
};

struct Settings {
  Policy policy;
  PartValues values;  // of the keys of parts, chosen or not
  MembershipSettings membership;
  StopSettings stop;
  TestSettings test;
  // The gate: an update with a parameter of this magnitude or more is refused. Times max_learners
  // it must stay below 2^23, or the exact sums could overflow.
  double max_parameter = 8192;
  Duration retry =
      Duration::Seconds(5);  // an unanswered learner asks again after this, then backs off
  // The models of a finished round stay until the next one ends, so that a learner can be withdrawn
  // from it. Without them the controller holds half as many.
  bool keep_models = true;
  uint64_t seed = 1990;  // keys what selectors draw

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Does a learner need a validation set under this policy?
bool NeedsValidationSet(const Policy& policy);

}  // namespace metis::federation
