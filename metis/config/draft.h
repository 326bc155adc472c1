// What a file and the command line say, before the defaults that depend on other keys are filled
// in. The keys of the table (keys.cc) read and write a Draft; Resolve() makes a Config of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/config/config.h"

namespace metis::config {

// One [[group]]: its machine, and its thresholds of the adaptive trigger.
struct GroupDraft {
  sim::DeviceGroup device;           // `learners` and `evaluation_batch_time` are below
  std::optional<uint32_t> learners;  // default: an even share of those left
  std::optional<Duration> evaluation_batch_time;  // default: a third of batch_time
  std::optional<double> vc_loss_pct;              // default: that of [trigger]
  std::optional<uint32_t> vc_tombstones;          // default: that of [trigger]
};

struct Draft {
  Config config;  // all that has a default of its own
  std::optional<std::string> policy;
  std::optional<federation::ProtocolKind> protocol;    // default: the policy's
  std::optional<federation::WeightingKind> weighting;  // default: the policy's
  std::optional<federation::TriggerKind> trigger;      // default: the policy's
  std::optional<double> proximal;                      // default: DefaultProximal()
  std::vector<GroupDraft> groups;                      // default: DefaultGroups()
};

// What training.proximal is where it is not set: FedAsync's rho, else 0.
double DefaultProximal(federation::ProtocolKind protocol);

// Stands for a combination of protocol, weighting and trigger that no policy has.
inline constexpr std::string_view kCustomPolicy = "custom";

// A fast and a slow one, with an even share of the learners each.
std::vector<GroupDraft> DefaultGroups();

Config Resolve(const Draft& draft);
// Resolve(DraftOf(config)) == config for every Config that Resolve() made.
Draft DraftOf(const Config& config);

}  // namespace metis::config
