// The settings of a federation: what the controller and every learner session decide by.
// Plain values with sensible defaults: a default-constructed Settings runs. metis/config reads them
// from TOML and has checked every range named here before the federation sees them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "metis/core/metric.h"
#include "metis/core/time.h"

namespace metis::federation {

// How updates become a community model (synchronous rounds; asynchronous with the cache;
// FedAsync's staleness-damped mixing).
enum class ProtocolKind { kSynchronous, kAsynchronous, kFedAsync };

// Where a learner's contribution p_k comes from.
enum class WeightingKind { kTrainingExamples, kValidation };

// When a learner asks for an update.
enum class TriggerKind { kEpochs, kAdaptive };

// What happens to an update that was trained on an earlier round's model.
enum class LateUpdates { kRefuse, kKeep };

// What happens to a lost learner's model when its lease ends.
enum class LeaseEnd { kKeep, kWithdraw };

// The number that C3 compares a learner's staleness with, taken from its first cycles.
enum class StalenessStatistic { kMedian, kMean, kMaximum };

// One row of the paper's table: a shorthand for protocol, weighting and trigger.
struct Policy {
  ProtocolKind protocol = ProtocolKind::kAsynchronous;
  WeightingKind weighting = WeightingKind::kValidation;
  TriggerKind trigger = TriggerKind::kEpochs;

  friend bool operator==(const Policy&, const Policy&) = default;
};

struct SyncSettings {
  Duration round_deadline = Duration::Forever();  // from the round's start
  LateUpdates late_updates = LateUpdates::kRefuse;
  // The models of a finished round stay until the next one ends, so that a learner can be withdrawn
  // from it. Without them the controller holds half as many.
  bool keep_models = true;

  friend bool operator==(const SyncSettings&, const SyncSettings&) = default;
};

struct FedAsyncSettings {
  double alpha = 0.5;               // mixing weight of a fresh update, (0, 1]
  double staleness_exponent = 0.5;  // a >= 0: alpha_t = alpha * (staleness + 1)^-a

  friend bool operator==(const FedAsyncSettings&, const FedAsyncSettings&) = default;
};

struct ValidationSettings {
  Metric metric = Metric::kMicroF1;
  bool count_own = true;                       // pool the requester's own counts
  double min_coverage = 2.0 / 3;               // of the asked evaluators' examples, [0, 1]
  Duration deadline = Duration::Seconds(120);  // for all evaluations of one update

  friend bool operator==(const ValidationSettings&, const ValidationSettings&) = default;
};

// Thresholds of the adaptive trigger; one set for each computational group.
struct CycleThresholds {
  double vc_loss_pct = 0;      // C2: an improvement up to this many per cent is a failure, >= 0
  uint32_t vc_tombstones = 4;  // failures allowed in a cycle

  friend bool operator==(const CycleThresholds&, const CycleThresholds&) = default;
};

struct TriggerSettings {
  uint32_t local_epochs = 4;        // uf, for the epochs trigger
  CycleThresholds thresholds = {};  // of groups that have none of their own
  // Of the groups that have their own; the paper's example for slow machines.
  std::map<std::string, CycleThresholds> group_thresholds = {{"slow", {1, 1}}};
  uint32_t staleness_window = 20;  // cycles before C3 applies
  StalenessStatistic staleness_statistic = StalenessStatistic::kMedian;
  uint32_t max_epochs = 1000;  // a cycle asks at the latest then: one that always improves must end

  friend bool operator==(const TriggerSettings&, const TriggerSettings&) = default;
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
  SyncSettings sync;
  FedAsyncSettings fedasync;
  ValidationSettings validation;
  TriggerSettings trigger;
  MembershipSettings membership;
  StopSettings stop;
  TestSettings test;
  // The gate: an update with a parameter of this magnitude or more is refused. Times max_learners
  // it must stay below 2^23, or the exact sums could overflow.
  double max_parameter = 8192;
  Duration retry =
      Duration::Seconds(5);  // an unanswered learner asks again after this, then backs off

  friend bool operator==(const Settings&, const Settings&) = default;
};

// The names of the policies in settings, in the order of the paper's table.
inline constexpr std::string_view kPolicyNames[] = {
    "sync-fedavg", "sync-dvw", "async-fedavg", "fedasync", "async-dvw", "async-dvw-adaptive"};

// Empty for a name that is none of kPolicyNames.
std::optional<Policy> PolicyNamed(std::string_view name);
// "custom" for a combination that has no row of its own.
std::string_view NameOf(const Policy& policy);

// Does a learner need a validation set under this policy?
bool NeedsValidationSet(const Policy& policy);

}  // namespace metis::federation
