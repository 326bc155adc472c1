// What the simulation's tests share: a small task of unequal learners, and a queue that runs to a
// moment. For tests only.
#pragma once

#include <memory>

#include "metis/federation/settings.h"
#include "metis/sim/builtin_workload.h"
#include "metis/sim/event_queue.h"

namespace metis::sim {

inline Instant At(double seconds) { return Instant() + Duration::FromSeconds(seconds); }

// Everything due until then; the clock stands there afterwards.
inline void RunUntil(EventQueue& queue, Instant end) {
  queue.At(end, kControllerOwner, [] {});
  while (!queue.empty() && queue.next() <= end) queue.RunNext();
}

// 180 examples of three classes in unequal shares, the largest first; mini-batches of ten.
inline std::unique_ptr<BuiltinWorkload> SmallWorkload(uint32_t learners, bool validation,
                                                      uint64_t seed = 7) {
  data::PartitionSettings partition;
  partition.sizes = data::SizeDistribution::kSkewed;
  learner::TrainingSettings training;
  training.batch_size = 10;
  training.validation_fraction = 0.2;
  BuiltinData data{.classes = 3, .features = 4, .training_examples = 180, .test_examples = 60};
  return BuiltinWorkload::Create(data, partition, training, learners, validation, seed).value();
}

inline federation::Settings SmallFederation(std::string_view policy, uint32_t learners) {
  federation::Settings settings;
  settings.policy = *federation::PolicyNamed(policy);
  settings.membership.learners = learners;
  settings.membership.max_learners = 20;
  settings.validation.deadline = Duration::Seconds(20);
  return settings;
}

}  // namespace metis::sim
