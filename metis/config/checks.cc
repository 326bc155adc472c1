#include "metis/config/checks.h"

#include <algorithm>
#include <optional>

#include "metis/config/document.h"
#include "metis/config/suggest.h"
#include "metis/core/text.h"
#include "metis/data/catalogue.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

using Conflicts = std::vector<Conflict>;

constexpr double kExactSumLimit = 8'388'608;  // 2^23: beyond it the exact sums could overflow

void CheckMembership(const federation::Settings& settings, Conflicts& out) {
  const federation::MembershipSettings& m = settings.membership;
  if (m.start_with > m.learners) {
    out.push_back({{"federation.start_with", "federation.learners"},
                   Text("start_with = ", m.start_with, " is more than learners = ", m.learners,
                        ": training would never start; use 0 to wait for all")});
  }
  if (m.quorum > m.learners) {
    out.push_back({{"federation.quorum", "federation.learners"},
                   Text("quorum = ", m.quorum, " is more than learners = ", m.learners,
                        ": the federation would always be paused")});
  }
  // An observer that joins first takes a place: the last learner would be refused, for ever.
  if (m.learners >= m.max_learners) {
    out.push_back({{"federation.learners", "federation.max_learners"},
                   Text("learners = ", m.learners, " and an observer are more than max_learners = ",
                        m.max_learners, ": raise max_learners to ", uint64_t{m.learners} + 1)});
  }
  if (settings.max_parameter * m.max_learners >= kExactSumLimit) {
    out.push_back(
        {{"federation.max_parameter", "federation.max_learners"},
         Text("max_parameter = ", settings.max_parameter, " times max_learners = ", m.max_learners,
              " must stay below 2^23 = 8388608, or sums could overflow: for ", m.max_learners,
              " learners max_parameter must be below ", kExactSumLimit / m.max_learners)});
  }
  if (m.heartbeat >= m.silence) {
    out.push_back({{"membership.heartbeat", "membership.silence"},
                   Text("heartbeat = \"", m.heartbeat, "\" must be shorter than silence = \"",
                        m.silence, "\", or learners are lost between two heartbeats")});
  }
  if (m.silence >= m.lease) {
    out.push_back(
        {{"membership.lease", "membership.silence"},
         Text("lease = \"", m.lease, "\" must be longer than silence = \"", m.silence, "\"")});
  }
}

void CheckParts(const federation::Settings& settings, Conflicts& out) {
  for (auto& [keys, message] : policy::FindConflicts(settings)) {
    out.push_back({std::move(keys), std::move(message)});
  }
}

std::string ProtocolsWithRounds() {
  std::vector<std::string> names;
  for (const federation::ProtocolPart* part : policy::AllParts().protocols) {
    if (part->rounds) names.push_back(Quoted(part->name));
  }
  return Join(names, " or ");
}

void CheckStop(const federation::Settings& settings, Conflicts& out) {
  const federation::StopSettings& stop = settings.stop;
  const federation::TestSettings& test = settings.test;
  if (stop.rounds && !settings.policy.protocol->rounds) {
    out.push_back({{"stop.rounds", "federation.protocol", "federation.policy"},
                   Text("rounds = ", *stop.rounds, " is for the protocol ", ProtocolsWithRounds(),
                        ": use requests to bound commits")});
  }
  bool by_accuracy = stop.target_accuracy || stop.patience;
  if (by_accuracy && !test.every && !test.every_commits) {
    out.push_back(
        {{"stop.target_accuracy", "stop.patience", "test.every", "test.every_commits"},
         "target_accuracy and patience need tests: set every or every_commits in [test]"});
  }
  if (by_accuracy && stop.duration && !test.every_commits && test.every > stop.duration) {
    out.push_back({{"test.every", "stop.duration"},
                   Text("every = \"", *test.every, "\" is longer than the duration \"",
                        *stop.duration, "\": target_accuracy and patience would never be tested")});
  }
}

void CheckGroups(const Config& config, Conflicts& out) {
  uint64_t sum = 0;
  std::vector<std::string> names, parts, keys;
  for (const sim::DeviceGroup& group : config.simulation.groups) {
    if (std::find(names.begin(), names.end(), group.name) != names.end()) {
      out.push_back({{Text("group.", group.name, ".name")},
                     Text("there are two groups with the name \"", group.name, "\": rename one")});
    }
    sum += group.learners;
    names.push_back(group.name);
    keys.push_back(Text("group.", group.name, ".learners"));
    parts.push_back(Text(group.learners, " ", group.name));
  }
  uint32_t learners = config.federation.membership.learners;
  if (sum != learners) {
    keys.push_back("federation.learners");
    out.push_back(
        {keys, Text("the groups have ", sum, " learners (", Join(parts),
                    "), but [federation] learners = ", learners,
                    ": change one, or leave out a group's learners to give it the rest")});
  }
  for (const std::string& name : config.federation.values.Groups()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::vector<std::string> paths;
    for (const federation::PartKey& key : policy::Keys()) {
      if (!key.column.empty()) paths.push_back(Text("group.", name, ".", key.name));
    }
    out.push_back({std::move(paths),
                   Text("there are thresholds for a group \"", name, "\", which does not exist",
                        DidYouMean(": ", name, names), " (groups: ", Join(names), ")")});
  }
}

// Of the data, where that can be told without reading it.
std::optional<uint32_t> ClassesOf(const Config& config) {
  if (config.source.dataset == data::kBuiltinData) return config.simulation.builtin.classes;
  const data::KnownSet* known = data::FindKnown(config.source.dataset);
  return known == nullptr ? std::nullopt : std::optional(known->classes);
}

void CheckClassRuns(const Config& config, Conflicts& out) {
  if (config.data.classes != data::ClassDistribution::kNonIid) return;
  uint32_t learners = config.federation.membership.learners;
  std::optional<uint32_t> classes = ClassesOf(config);
  std::string text = data::FormatClasses(config.data);
  uint64_t counted = 0;
  bool rest = false;
  for (const data::ClassRun& run : config.data.class_runs) {
    counted += run.learners;
    rest = rest || run.learners == 0;
    if (classes && run.classes > *classes) {
      out.push_back({{"data.classes", "builtin.classes", "data.dataset"},
                     Text("classes = \"", text, "\" gives a learner ", run.classes,
                          " classes, but the data has ", *classes)});
    }
  }
  if (counted > learners || (counted < learners && !rest)) {
    out.push_back({{"data.classes", "federation.learners"},
                   Text("classes = \"", text, "\" is for ", counted,
                        " learners, but [federation] learners = ", learners,
                        ": the numbers after the x must add up to it")});
  }
}

// That are dealt, where that can be told without reading them.
std::optional<uint64_t> ExamplesOf(const Config& config) {
  if (config.source.dataset == data::kBuiltinData) {
    return config.simulation.builtin.training_examples;
  }
  if (config.source.examples) return *config.source.examples;
  const data::KnownSet* known = data::FindKnown(config.source.dataset);
  return known == nullptr ? std::nullopt : std::optional<uint64_t>(known->train_examples);
}

// Nobody waits a century for an epoch, and an Instant has no room for three.
void CheckEpochs(const Config& config, Conflicts& out) {
  const std::optional<uint64_t> examples = ExamplesOf(config);
  if (!examples) return;
  const uint64_t size = config.training.batch_size;
  const uint64_t batches = (*examples + size - 1) / size;
  const auto check = [&](const std::string& group, std::string_view key, Duration time) {
    const int64_t most = Duration::Forever().nanoseconds();
    if (time.IsZero() || batches <= static_cast<uint64_t>(most / time.nanoseconds())) return true;
    out.push_back(
        {{Text("group.", group, ".", key), "training.batch_size", "data.examples",
          "builtin.training_examples"},
         Text(key, " = \"", time, "\" of the group \"", group, "\" and batch_size = ", size,
              ": an epoch over all ", *examples, " examples would be longer than 100 years: lower ",
              key, ", or raise batch_size")});
    return false;
  };
  for (const sim::DeviceGroup& group : config.simulation.groups) {
    // The second follows from the first where it is not set: one complaint is enough.
    if (!check(group.name, "batch_time", group.batch_time)) continue;
    check(group.name, "evaluation_batch_time", group.evaluation_batch_time);
  }
}

// Of a federation over the network, too, whose sites have data of their own: naming it helps.
void CheckBuiltin(const Config& config, Conflicts& out) {
  if (config.source.dataset != data::kBuiltinData) return;
  uint32_t learners = config.federation.membership.learners;
  uint32_t examples = config.simulation.builtin.training_examples;
  if (examples < learners) {
    out.push_back({{"builtin.training_examples", "federation.learners", "data.dataset"},
                   Text("training_examples = ", examples, " is fewer than learners = ", learners,
                        ": every learner needs at least one (or name real data: dataset)")});
  }
}

}  // namespace

Conflicts FindConflicts(const Config& config) {
  Conflicts out;
  CheckMembership(config.federation, out);
  CheckParts(config.federation, out);
  CheckStop(config.federation, out);
  CheckGroups(config, out);
  CheckClassRuns(config, out);
  CheckEpochs(config, out);
  CheckBuiltin(config, out);
  return out;
}

}  // namespace metis::config
