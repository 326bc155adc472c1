#include "metis/builtin/workload.h"

#include <numeric>

#include "metis/builtin/trainer.h"

namespace metis::builtin {

BuiltinWorkload::BuiltinWorkload(const BuiltinData& data, const learner::TrainingSettings& training,
                                 uint64_t seed)
    : task_(data, seed), training_(training), seed_(seed), pool_(task_.schema()) {
  initial_ = task_.InitialModel(pool_);
}

Result<std::unique_ptr<BuiltinWorkload>> BuiltinWorkload::Create(
    const BuiltinData& data, const data::PartitionSettings& partition,
    const learner::TrainingSettings& training, uint32_t learners, bool validation, uint64_t seed) {
  std::unique_ptr<BuiltinWorkload> workload(new BuiltinWorkload(data, training, seed));
  const std::vector<uint32_t>& labels = workload->task_.training().labels;
  Result<data::Partition> made =
      data::MakePartition(labels, data.classes, learners, partition, seed);
  if (!made) return made.error();
  workload->partition_ = *std::move(made);
  for (uint32_t learner = 0; learner < learners; ++learner) {
    const std::vector<uint32_t>& examples = workload->partition_.shares[learner].examples;
    if (validation) {
      workload->splits_.push_back(data::StratifiedSplit(
          examples, labels, data.classes, training.validation_fraction, seed, learner));
    } else {
      workload->splits_.push_back({examples, {}});
    }
  }
  return workload;
}

std::unique_ptr<learner::Trainer> BuiltinWorkload::MakeTrainer(LearnerId learner) const {
  return std::make_unique<BuiltinTrainer>(task_, pool_, splits_[learner.value()].training,
                                          training_, seed_, learner);
}

std::unique_ptr<learner::Evaluator> BuiltinWorkload::MakeEvaluator(LearnerId learner) const {
  const std::vector<uint32_t>& validation = splits_[learner.value()].validation;
  if (validation.empty()) return nullptr;
  return std::make_unique<BuiltinEvaluator>(task_, task_.training(), validation,
                                            training_.batch_size);
}

std::vector<std::unique_ptr<learner::Evaluator>> BuiltinWorkload::MakeTesters() const {
  std::vector<uint32_t> all(task_.test().size());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<std::unique_ptr<learner::Evaluator>> testers;
  testers.push_back(std::make_unique<BuiltinEvaluator>(task_, task_.test(), std::move(all),
                                                       training_.batch_size));
  return testers;
}

}  // namespace metis::builtin
