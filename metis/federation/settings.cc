#include "metis/federation/settings.h"

#include <array>

namespace metis::federation {
namespace {

constexpr auto kSync = ProtocolKind::kSynchronous;
constexpr auto kAsync = ProtocolKind::kAsynchronous;
constexpr auto kExamples = WeightingKind::kTrainingExamples;
constexpr auto kValidation = WeightingKind::kValidation;

// In the order of kPolicyNames.
constexpr std::array<Policy, 6> kPolicies = {
    {{kSync, kExamples, TriggerKind::kEpochs},
     {kSync, kValidation, TriggerKind::kEpochs},
     {kAsync, kExamples, TriggerKind::kEpochs},
     {ProtocolKind::kFedAsync, kExamples, TriggerKind::kEpochs},
     {kAsync, kValidation, TriggerKind::kEpochs},
     {kAsync, kValidation, TriggerKind::kAdaptive}}};

}  // namespace

std::optional<Policy> PolicyNamed(std::string_view name) {
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    if (kPolicyNames[i] == name) return kPolicies[i];
  }
  return std::nullopt;
}

std::string_view NameOf(const Policy& policy) {
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    if (kPolicies[i] == policy) return kPolicyNames[i];
  }
  return "custom";
}

bool NeedsValidationSet(const Policy& policy) {
  return policy.weighting == WeightingKind::kValidation || policy.trigger == TriggerKind::kAdaptive;
}

}  // namespace metis::federation
