// A part of a policy: everything about one weighting, trigger, protocol, ... as a constant that its
// file in metis/policy defines and the list of parts (metis/policy/parts.h) names. Configuration,
// reference, swarm and laws read these; no other code knows a part by its name.
//
// Settings::policy points at the chosen ones. Immutable after construction: threads may share them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/random.h"
#include "metis/federation/aggregator.h"
#include "metis/federation/optimizer.h"
#include "metis/federation/oracle.h"
#include "metis/federation/part_key.h"
#include "metis/federation/protocol.h"
#include "metis/federation/selector.h"
#include "metis/federation/settings.h"
#include "metis/federation/trigger.h"
#include "metis/federation/weighting.h"

namespace metis::federation {

// Settings that contradict each other: the keys that the user could change, and why.
struct PartConflict {
  std::vector<std::string> keys;
  std::string message;
};

struct Part {
  std::string_view name;  // in the configuration
  std::string_view help;  // completes the sentence "name: ..." of the reference

  std::vector<PartKey> keys = {};
  std::string_view section_help = {};  // of the keys' section, if it is this part's to describe
  // What it contradicts in these settings, which chose it.
  std::function<std::vector<PartConflict>(const Settings&)> check = nullptr;

  // The swarm: how often it is drawn beside the others of its kind, and its keys. They are drawn in
  // every scenario, chosen or not.
  double drawn = 1;
  std::function<void(Random&, Settings&)> draw = nullptr;
};

struct ProtocolPart : Part {
  bool rounds = false;                  // it commits rounds: all updates of one replace all
  std::string_view aggregator;          // that it has where none is chosen
  std::optional<double> proximal = {};  // training.proximal where that is not set
  // May it shut out a learner for ever, as set? Then the swarm does not ask for its updates.
  std::function<bool(const Settings&)> may_starve = nullptr;

  std::function<std::unique_ptr<Protocol>(const Settings&)> make = nullptr;
  std::function<std::unique_ptr<ProtocolOracle>(const Settings&)> expect = nullptr;
};

struct AggregatorPart : Part {
  std::string_view protocol = {};  // comes with this one and cannot be chosen by itself
  bool weighs = false;             // by itself: the weighting has no say
  bool serves_rounds = true;

  std::function<std::unique_ptr<Aggregator>(const AggregatorInputs&)> make = nullptr;
  std::function<std::unique_ptr<AggregatorOracle>(const Settings&, const Model&)> expect = nullptr;
};

struct OptimizerPart : Part {
  bool keeps_model = true;  // false: the community model is the aggregate, and saved only there

  std::function<std::unique_ptr<ServerOptimizer>(const Settings&, ModelPool&)> make = nullptr;
  std::function<std::unique_ptr<OptimizerOracle>(const Settings&)> expect = nullptr;
};

// How the other learners evaluate an update.
struct EvaluationTerms {
  bool count_own = true;  // pool the requester's own counts
  Duration deadline;      // for all evaluations of one update
};

struct WeightingPart : Part {
  // Null: nobody evaluates. Else every learner needs a validation set.
  std::function<EvaluationTerms(const Settings&)> evaluation = nullptr;

  std::function<std::unique_ptr<Weighting>(const Settings&)> make = nullptr;
  // As Weighting::Weigh.
  std::function<std::optional<double>(const Settings&, const WeighingFacts&)> expect = nullptr;
};

struct TriggerPart : Part {
  bool watches_loss = false;  // a learner needs a validation set, and evaluates every epoch on it
  // The epochs of every cycle, where they are known beforehand.
  std::function<std::optional<uint32_t>(const Settings&)> fixed_epochs = nullptr;
  std::function<std::string(const Settings&)> in_words = nullptr;  // "after 4 local epochs"

  std::function<std::unique_ptr<Trigger>(const Settings&, const std::string& group)> make = nullptr;
  // Why to ask now; empty: not yet.
  std::function<std::optional<CycleReason>(const Settings&, const CycleFacts&)> expect = nullptr;
};

struct TrainersPart : Part {
  std::function<std::unique_ptr<TrainerSelector>(const Settings&)> make = nullptr;
  // Is a round to wait for this learner, which is live as it ends?
  std::function<bool(const Settings&, LearnerId learner, uint64_t round,
                     const std::vector<LearnerId>& live_at_start)>
      expect = nullptr;
};

struct EvaluatorsPart : Part {
  std::function<std::unique_ptr<EvaluatorSelector>(const Settings&)> make = nullptr;
  // What is wrong with asking these for this update, if anything; `asked` are some of `able`.
  std::function<std::optional<std::string>(const Settings&, const UpdateId& update,
                                           const std::vector<LearnerId>& able,
                                           const std::vector<LearnerId>& asked)>
      expect = nullptr;
};

}  // namespace metis::federation
