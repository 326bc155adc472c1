// How long, how many, how strict: what the processes of a soak agree on. For tests only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "metis/builtin/workload.h"
#include "metis/federation/settings.h"
#include "metis/policy/policy.h"

namespace metis::soak {

struct Options {
  uint32_t learners = 200;
  uint32_t seconds = 300;  // they are held
  uint32_t window = 8;     // seconds in which updates are counted, with and without a hostile peer
  uint32_t rounds = 3;     // pairs of windows for each kind of peer
  uint32_t rate = 60;      // updates a second of all together, by the length of their epochs
  double memory_growth = 1.05;  // of the last fifth over the second one
  double least_ratio = 0.9;     // of updates beside a hostile peer
  double open_files = 4;        // more or fewer, of the last fifth to the second one

  double epoch_seconds() const { return double{1} * learners / rate; }
};

inline federation::Settings SettingsOf(const Options& options) {
  federation::Settings settings;
  settings.policy = *policy::PolicyNamed("async-fedavg");
  settings.membership.learners = options.learners;
  settings.membership.max_learners = options.learners + 100;
  settings.membership.heartbeat = Duration::Seconds(2);
  settings.membership.silence = Duration::Seconds(30);
  policy::Set(settings, "trigger.local_epochs", 1);
  return settings;
}

inline std::unique_ptr<builtin::BuiltinWorkload> MakeWorkload(const Options& options) {
  builtin::BuiltinData data;
  data.training_examples = 50 * options.learners;
  data::PartitionSettings partition;
  partition.sizes = data::SizeDistribution::kSkewed;
  return builtin::BuiltinWorkload::Create(data, partition, {}, options.learners, false, 1990)
      .value();
}

}  // namespace metis::soak
