#include "metis/policy/policy.h"

#include <algorithm>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::policy {
namespace {

using federation::Part;
using federation::PartConflict;
using federation::PartKey;
using federation::Policy;

struct Row {
  std::string_view protocol, weighting, trigger;
};
// In the order of kPolicyNames.
constexpr std::array<Row, kPolicyNames.size()> kRows = {
    {{"synchronous", "training-examples", "epochs"},
     {"synchronous", "validation", "epochs"},
     {"asynchronous", "training-examples", "epochs"},
     {"fedasync", "training-examples", "epochs"},
     {"asynchronous", "validation", "epochs"},
     {"asynchronous", "validation", "adaptive"}}};

template <typename P, const P* Policy::*Member>
Kind MakeKind(std::string_view key, bool named, const std::vector<const P*>& parts,
              std::string_view documentation) {
  Kind kind;
  kind.key = key;
  kind.documentation = documentation;
  kind.named = named;
  kind.parts.assign(parts.begin(), parts.end());
  for (const P* part : parts) {
    if constexpr (std::is_same_v<P, federation::AggregatorPart>) {
      if (!part->protocol.empty()) continue;
    }
    kind.choices.push_back(part);
  }
  kind.chosen = [](const Policy& policy) -> const Part* { return policy.*Member; };
  kind.choose = [](Policy& policy, const Part& part) {
    policy.*Member = static_cast<const P*>(&part);
  };
  return kind;
}

std::vector<Kind> MakeKinds() {
  using namespace federation;
  const Parts& parts = AllParts();
  return {
      MakeKind<ProtocolPart, &Policy::protocol>("protocol", true, parts.protocols,
                                                "How updates become a community model."),
      MakeKind<AggregatorPart, &Policy::aggregator>("aggregator", false, parts.aggregators,
                                                    "What the learners' models are made into."),
      MakeKind<OptimizerPart, &Policy::optimizer>(
          "optimizer", false, parts.optimizers,
          "The controller's own step from one community model to the next."),
      MakeKind<WeightingPart, &Policy::weighting>("weighting", true, parts.weightings,
                                                  "Where a learner's contribution comes from."),
      MakeKind<TriggerPart, &Policy::trigger>("trigger", true, parts.triggers,
                                              "When a learner asks for an update."),
      MakeKind<TrainersPart, &Policy::trainers>("trainers", false, parts.trainers,
                                                "Who trains in a synchronous round."),
      MakeKind<EvaluatorsPart, &Policy::evaluators>(
          "evaluators", false, parts.evaluators,
          "Who evaluates an update, of the other learners that have validation data."),
  };
}

std::vector<PartKey> ListKeys() {
  std::vector<PartKey> keys;
  for (const Kind& kind : Kinds()) {
    for (const Part* part : kind.parts) {
      for (const PartKey& key : part->keys) {
        const bool known = std::any_of(keys.begin(), keys.end(), [&](const PartKey& other) {
          return other.Path() == key.Path();
        });
        if (!known) keys.push_back(key);
      }
    }
  }
  return keys;
}

}  // namespace

const Part* Kind::Find(std::string_view name) const {
  for (const Part* part : parts) {
    if (part->name == name) return part;
  }
  return nullptr;
}

const std::vector<Kind>& Kinds() {
  static const auto* kinds = new std::vector<Kind>(MakeKinds());
  return *kinds;
}

const Kind& KindNamed(std::string_view key) {
  for (const Kind& kind : Kinds()) {
    if (kind.key == key) return kind;
  }
  METIS_CHECK_MSG(false, key);
}

Policy With(Policy policy, std::string_view kind, std::string_view name) {
  const Kind& its = KindNamed(kind);
  const Part* part = its.Find(name);
  METIS_CHECK_MSG(part != nullptr, name);
  its.choose(policy, *part);
  if (kind == "protocol") policy = With(policy, "aggregator", policy.protocol->aggregator);
  return policy;
}

std::optional<Policy> PolicyNamed(std::string_view name) {
  const auto row = std::find(kPolicyNames.begin(), kPolicyNames.end(), name);
  if (row == kPolicyNames.end()) return std::nullopt;
  const auto& [protocol, weighting, trigger] =
      kRows[static_cast<size_t>(row - kPolicyNames.begin())];
  Policy policy;
  for (const Kind& kind : Kinds()) kind.choose(policy, *kind.parts.front());
  return With(With(With(policy, "protocol", protocol), "weighting", weighting), "trigger", trigger);
}

std::string_view NameOf(const Policy& policy) {
  const Row own{policy.protocol->name, policy.weighting->name, policy.trigger->name};
  if (policy.aggregator->name != policy.protocol->aggregator) return kCustomPolicy;
  for (size_t i = 0; i < kRows.size(); ++i) {
    const auto& [protocol, weighting, trigger] = kRows[i];
    if (own.protocol == protocol && own.weighting == weighting && own.trigger == trigger) {
      return kPolicyNames[i];
    }
  }
  return kCustomPolicy;
}

const std::vector<PartKey>& Keys() {
  static const auto* keys = new std::vector<PartKey>(ListKeys());
  return *keys;
}

const PartKey* FindKey(std::string_view path) {
  for (const PartKey& key : Keys()) {
    if (key.Path() == path) return &key;
  }
  return nullptr;
}

std::string_view SectionHelp(std::string_view section) {
  for (const Kind& kind : Kinds()) {
    for (const Part* part : kind.parts) {
      const bool describes = !part->section_help.empty() && !part->keys.empty();
      if (describes && part->keys.front().section == section) return part->section_help;
    }
  }
  METIS_CHECK_MSG(false, section);
}

const PartKey& KeyNamed(std::string_view path) {
  const PartKey* key = FindKey(path);
  METIS_CHECK_MSG(key != nullptr, path);
  return *key;
}

std::vector<PartConflict> FindConflicts(const federation::Settings& settings) {
  std::vector<PartConflict> conflicts;
  const Policy& policy = settings.policy;
  if (policy.protocol->rounds && !policy.aggregator->serves_rounds) {
    conflicts.push_back(
        {{"federation.aggregator", "federation.protocol"},
         Text("aggregator = \"", policy.aggregator->name,
              "\" does not serve the rounds of protocol = \"", policy.protocol->name, "\"")});
  }
  for (const Kind& kind : Kinds()) {
    const Part* part = kind.chosen(policy);
    if (part->check == nullptr) continue;
    for (PartConflict& conflict : part->check(settings)) conflicts.push_back(std::move(conflict));
  }
  return conflicts;
}

}  // namespace metis::policy
