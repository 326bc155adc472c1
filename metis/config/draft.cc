#include "metis/config/draft.h"

#include <algorithm>

namespace metis::config {
namespace {

constexpr double kFedAsyncProximal = 0.005;  // rho of FedAsync
constexpr Duration kDefaultDuration = Duration::Hours(1);
constexpr int64_t kTestsPerRun = 100;  // the test set is evaluated every 1 % of the run

federation::Policy ResolvePolicy(const Draft& draft) {
  federation::Policy policy;
  if (draft.policy && *draft.policy != kCustomPolicy) {
    policy = federation::PolicyNamed(*draft.policy).value();
  }
  policy.protocol = draft.protocol.value_or(policy.protocol);
  policy.weighting = draft.weighting.value_or(policy.weighting);
  policy.trigger = draft.trigger.value_or(policy.trigger);
  return policy;
}

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
  federation::TriggerSettings& trigger = config.federation.trigger;
  config.simulation.groups.clear();
  trigger.group_thresholds.clear();
  for (const GroupDraft& group : groups) {
    sim::DeviceGroup device = group.device;
    device.learners = group.learners.value();
    device.evaluation_batch_time =
        group.evaluation_batch_time.value_or(33 * (device.batch_time / 100));
    config.simulation.groups.push_back(device);
    if (group.vc_loss_pct || group.vc_tombstones) {
      trigger.group_thresholds[device.name] = {
          .vc_loss_pct = group.vc_loss_pct.value_or(trigger.thresholds.vc_loss_pct),
          .vc_tombstones = group.vc_tombstones.value_or(trigger.thresholds.vc_tombstones)};
    }
  }
}

}  // namespace

std::vector<GroupDraft> DefaultGroups() {
  std::vector<GroupDraft> groups;
  for (const sim::DeviceGroup& device : sim::Settings().groups) {
    GroupDraft group;
    group.device = device;
    const auto thresholds = federation::TriggerSettings().group_thresholds;
    if (auto own = thresholds.find(device.name); own != thresholds.end()) {
      group.vc_loss_pct = own->second.vc_loss_pct;
      group.vc_tombstones = own->second.vc_tombstones;
    }
    groups.push_back(group);
  }
  return groups;
}

double DefaultProximal(federation::ProtocolKind protocol) {
  const bool mixing = protocol == federation::ProtocolKind::kFedAsync;
  return mixing ? kFedAsyncProximal : learner::TrainingSettings().proximal;
}

Config Resolve(const Draft& draft) {
  Config config = draft.config;
  config.federation.policy = ResolvePolicy(draft);
  config.training.proximal =
      draft.proximal.value_or(DefaultProximal(config.federation.policy.protocol));
  config.federation.sync.keep_models = store::KeepsModels(config.storage);
  ResolveStop(config.federation.stop);
  ResolveTest(config.federation.stop, config.federation.test);
  ResolveGroups(draft.groups.empty() ? DefaultGroups() : draft.groups, config);
  return config;
}

Draft DraftOf(const Config& config) {
  Draft draft;
  draft.config = config;
  const federation::Policy& policy = config.federation.policy;
  draft.policy = std::string(federation::NameOf(policy));
  draft.protocol = policy.protocol;
  draft.weighting = policy.weighting;
  draft.trigger = policy.trigger;
  draft.proximal = config.training.proximal;
  for (const sim::DeviceGroup& device : config.simulation.groups) {
    GroupDraft group;
    group.device = device;
    group.learners = device.learners;
    group.evaluation_batch_time = device.evaluation_batch_time;
    const auto& thresholds = config.federation.trigger.group_thresholds;
    if (auto own = thresholds.find(device.name); own != thresholds.end()) {
      group.vc_loss_pct = own->second.vc_loss_pct;
      group.vc_tombstones = own->second.vc_tombstones;
    }
    draft.groups.push_back(group);
  }
  return draft;
}

}  // namespace metis::config
