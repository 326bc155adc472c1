#include "metis/config/draft.h"

#include <algorithm>

namespace metis::config {
namespace {

constexpr Duration kDefaultDuration = Duration::Hours(1);
constexpr int64_t kTestsPerRun = 100;  // the test set is evaluated every 1 % of the run

void ResolveStop(federation::StopSettings& stop) {
  bool any = stop.duration || stop.rounds || stop.requests || stop.target_accuracy || stop.patience;
  if (!any) stop.duration = kDefaultDuration;
}

// A test every 1 % of whatever bounds the run; after every commit if only accuracy does.
void ResolveTest(const federation::StopSettings& stop, federation::TestSettings& test) {
  if (test.every || test.every_commits) return;
  if (stop.duration) {
    test.every = std::max(Duration::Nanoseconds(1), *stop.duration / kTestsPerRun);
    return;
  }
  uint64_t commits = std::min(stop.rounds.value_or(UINT64_MAX), stop.requests.value_or(UINT64_MAX));
  bool bounded = stop.rounds || stop.requests;
  test.every_commits = bounded ? std::max<uint64_t>(1, commits / kTestsPerRun) : 1;
}

// The learners that the groups with a number leave, dealt evenly to the others, the first ones
// first.
void ShareLearners(uint32_t learners, std::vector<GroupDraft>& groups) {
  uint64_t taken = 0;
  uint32_t sharing = 0;
  for (const GroupDraft& group : groups) {
    taken += group.learners.value_or(0);
    sharing += group.learners ? 0 : 1;
  }
  uint32_t left = taken < learners ? static_cast<uint32_t>(learners - taken) : 0;
  for (GroupDraft& group : groups) {
    if (group.learners) continue;
    group.learners = (left + sharing - 1) / sharing;
    left -= *group.learners;
    --sharing;
  }
}

void ResolveGroups(std::vector<GroupDraft> groups, Config& config) {
  ShareLearners(config.federation.membership.learners, groups);
  config.simulation.groups.clear();
  config.federation.values.ClearGroups();
  for (const GroupDraft& group : groups) {
    sim::DeviceGroup device = group.device;
    device.learners = group.learners.value();
    device.evaluation_batch_time =
        group.evaluation_batch_time.value_or(33 * (device.batch_time / 100));
    config.simulation.groups.push_back(device);
    for (const auto& [path, value] : group.own) {
      config.federation.values.SetOfGroup(*policy::FindKey(path), device.name, value);
    }
  }
}

}  // namespace

std::vector<GroupDraft> DefaultGroups() {
  std::vector<GroupDraft> groups;
  for (const sim::DeviceGroup& device : sim::Settings().groups) {
    GroupDraft group;
    group.device = device;
    for (const federation::PartKey& key : policy::Keys()) {
      for (const federation::PartKey::OfGroup& own : key.group_defaults) {
        if (own.group == device.name) group.own[key.Path()] = key.Value(own.value);
      }
    }
    groups.push_back(group);
  }
  return groups;
}

double DefaultProximal(const federation::ProtocolPart& protocol) {
  return protocol.proximal.value_or(learner::TrainingSettings().proximal);
}

federation::Policy ResolvePolicy(const Draft& draft) {
  const bool named = draft.policy && *draft.policy != policy::kCustomPolicy;
  federation::Policy policy =
      policy::PolicyNamed(named ? *draft.policy : policy::kDefaultPolicy).value();
  for (size_t i = 0; i < draft.parts.size(); ++i) {
    // A protocol comes before the aggregator that it brings with it.
    if (draft.parts[i]) policy = policy::With(policy, policy::Kinds()[i].key, *draft.parts[i]);
  }
  return policy;
}

Config Resolve(const Draft& draft) {
  Config config = draft.config;
  config.federation.policy = ResolvePolicy(draft);
  config.training.proximal =
      draft.proximal.value_or(DefaultProximal(*config.federation.policy.protocol));
  config.federation.keep_models = store::KeepsModels(config.storage);
  config.federation.seed = config.simulation.seed;
  ResolveStop(config.federation.stop);
  ResolveTest(config.federation.stop, config.federation.test);
  ResolveGroups(draft.groups.empty() ? DefaultGroups() : draft.groups, config);
  return config;
}

Draft DraftOf(const Config& config) {
  Draft draft;
  draft.config = config;
  const federation::Policy& policy = config.federation.policy;
  draft.policy = std::string(policy::NameOf(policy));
  for (size_t i = 0; i < draft.parts.size(); ++i) {
    draft.parts[i] = std::string(policy::Kinds()[i].chosen(policy)->name);
  }
  draft.proximal = config.training.proximal;
  for (const sim::DeviceGroup& device : config.simulation.groups) {
    GroupDraft group;
    group.device = device;
    group.learners = device.learners;
    group.evaluation_batch_time = device.evaluation_batch_time;
    for (const federation::PartKey& key : policy::Keys()) {
      const auto own = config.federation.values.OfGroup(key, device.name);
      if (own) group.own[key.Path()] = *own;
    }
    draft.groups.push_back(group);
  }
  return draft;
}

}  // namespace metis::config
