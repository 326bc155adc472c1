// The built-in task dealt to learners: Gaussian classes, split by size and class distributions,
// with a stratified validation set at each learner where the policy needs one. Immutable; trainers
// borrow it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "metis/builtin/data.h"
#include "metis/builtin/settings.h"
#include "metis/core/result.h"
#include "metis/data/partition.h"
#include "metis/learner/settings.h"
#include "metis/learner/workload.h"

namespace metis::builtin {

class BuiltinWorkload final : public learner::Workload {
 public:
  // `validation` reserves training.validation_fraction of each learner's examples. Fails where the
  // partition cannot be made.
  static Result<std::unique_ptr<BuiltinWorkload>> Create(const BuiltinData& data,
                                                         const data::PartitionSettings& partition,
                                                         const learner::TrainingSettings& training,
                                                         uint32_t learners, bool validation,
                                                         uint64_t seed);

  ModelPool& pool() const override { return pool_; }
  ModelPtr initial() const override { return initial_; }
  uint32_t learners() const override { return static_cast<uint32_t>(splits_.size()); }
  std::unique_ptr<learner::Trainer> MakeTrainer(LearnerId learner) const override;
  std::unique_ptr<learner::Evaluator> MakeEvaluator(LearnerId learner) const override;
  std::vector<std::unique_ptr<learner::Evaluator>> MakeTesters() const override;
  std::vector<uint64_t> class_counts(LearnerId learner) const override {
    return partition_.shares[learner.value()].class_counts;
  }
  const data::Partition& partition() const { return partition_; }

 private:
  BuiltinWorkload(const BuiltinData& data, const learner::TrainingSettings& training,
                  uint64_t seed);

  const GaussianTask task_;
  const learner::TrainingSettings training_;
  const uint64_t seed_;
  mutable ModelPool pool_;  // synchronises itself
  ModelPtr initial_;
  data::Partition partition_;
  std::vector<data::Split> splits_;
};

}  // namespace metis::builtin
