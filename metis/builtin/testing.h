// A small built-in task, for the tests of this layer and of those above. For tests only.
#pragma once

#include <cstdint>
#include <memory>

#include "metis/builtin/workload.h"
#include "metis/data/partition.h"

namespace metis::builtin {

// 180 examples of three classes in unequal shares, the largest first; mini-batches of ten.
inline std::unique_ptr<BuiltinWorkload> SmallWorkload(uint32_t learners, bool validation,
                                                      uint64_t seed = 7,
                                                      bool keep_momentum = false) {
  data::PartitionSettings partition;
  partition.sizes = data::SizeDistribution::kSkewed;
  learner::TrainingSettings training;
  training.batch_size = 10;
  training.validation_fraction = 0.2;
  training.keep_momentum = keep_momentum;
  const BuiltinData data{
      .classes = 3, .features = 4, .training_examples = 180, .test_examples = 60};
  return BuiltinWorkload::Create(data, partition, training, learners, validation, seed).value();
}

}  // namespace metis::builtin
