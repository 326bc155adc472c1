// Real data and real networks for the simulator: a data set dealt to learners, some of them with
// wrong labels, each with a stratified validation set where the policy needs one, trained with
// libtorch. Immutable, with the data set in memory once; trainers borrow it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/learner/workload.h"
#include "metis/task/federation_data.h"
#include "metis/train/architecture.h"
#include "metis/train/examples.h"

namespace metis::task {

// What the files held when they were read, whatever they are called: values, labels and writers.
struct DataFingerprints {
  uint64_t training = 0;
  uint64_t test = 0;
};

class TorchWorkload final : public learner::Workload {
 public:
  // Reads the data set that the configuration names, from `data_directory` if it is a known one.
  // Fails where data, partition, model and training do not go together.
  static Result<std::unique_ptr<TorchWorkload>> Create(const config::Config& config,
                                                       const std::string& data_directory);

  ModelPool& pool() const override { return *pool_; }
  ModelPtr initial() const override { return initial_; }
  uint32_t learners() const override { return static_cast<uint32_t>(shares_.size()); }
  std::unique_ptr<learner::Trainer> MakeTrainer(LearnerId learner) const override;
  std::unique_ptr<learner::Evaluator> MakeEvaluator(LearnerId learner) const override;
  std::vector<std::unique_ptr<learner::Evaluator>> MakeTesters() const override;
  std::vector<uint64_t> class_counts(LearnerId learner) const override {
    return shares_[learner.value()].class_counts;
  }

  const train::Architecture& architecture() const { return *architecture_; }
  const DataFingerprints& data() const { return data_; }

 private:
  TorchWorkload(const config::Config& config) : config_(config) {}
  Result<void> TryAll() const;

  const config::Config config_;
  DataFingerprints data_;
  train::Examples test_;
  train::ArchitecturePtr architecture_;
  std::unique_ptr<ModelPool> pool_;
  ModelPtr initial_;
  std::vector<Share> shares_;
};

}  // namespace metis::task
