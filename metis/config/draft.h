// What a file and the command line say, before the defaults that depend on other keys are filled
// in. The keys of the table (keys.cc) read and write a Draft; Resolve() makes a Config of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metis/config/config.h"
#include "metis/policy/policy.h"

namespace metis::config {

// One [[group]]: its machine, and its own values of the keys of parts.
struct GroupDraft {
  sim::DeviceGroup device;           // `learners` and `evaluation_batch_time` are below
  std::optional<uint32_t> learners;  // default: an even share of those left
  std::optional<Duration> evaluation_batch_time;    // default: a third of batch_time
  std::map<std::string, federation::KeyValue> own;  // by path; default: everybody's
};

struct Draft {
  Config config;  // all that has a default of its own
  std::optional<std::string> policy;
  // The chosen parts by name, one for each of policy::Kinds(); default: the policy's.
  std::vector<std::optional<std::string>> parts =
      std::vector<std::optional<std::string>>(policy::Kinds().size());
  std::optional<double> proximal;  // default: DefaultProximal()
  std::vector<GroupDraft> groups;  // default: DefaultGroups()
};

// The policy that the draft's name and parts make up.
federation::Policy ResolvePolicy(const Draft& draft);

// What training.proximal is where it is not set.
double DefaultProximal(const federation::ProtocolPart& protocol);

// A fast and a slow one, with an even share of the learners each.
std::vector<GroupDraft> DefaultGroups();

Config Resolve(const Draft& draft);
// Resolve(DraftOf(config)) == config for every Config that Resolve() made.
Draft DraftOf(const Config& config);

}  // namespace metis::config
