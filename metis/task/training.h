// One model trained on all of a data set, epoch after epoch: the centralised baseline, what `metis
// train` does. The same settings and seed give the same model. One thread uses a Training, which
// computes on that thread and blocks it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "metis/core/model.h"
#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"
#include "metis/store/model_file.h"
#include "metis/task/train_record.h"
#include "metis/task/train_settings.h"
#include "metis/train/architecture.h"

namespace metis::task {

// Everything that training needs, checked and ready to start.
struct Workshop {
  TrainExamples examples;
  train::ArchitecturePtr architecture;
  store::ModelFacts facts;
  std::unique_ptr<ModelPool> pool;
  ModelPtr initial;
};

// Reads data and, if there is one, the model to begin with; settings.model is filled in from it.
Result<Workshop> Prepare(TrainSettings& settings);

class Training {
 public:
  // Everything is borrowed. Once `interrupted` is true it ends at the next mini-batch.
  Training(const TrainSettings& settings, const Workshop& shop, Narrator& narrator,
           const std::atomic<bool>& interrupted)
      : settings_(settings), shop_(shop), narrator_(narrator), interrupted_(interrupted) {}

  // Fails where model and examples do not suit each other; call it first.
  Result<void> Begin();
  // Why it ended: "epochs", "interrupted" or "diverged". Every epoch is recorded, then told.
  Result<std::string> Run(TrainRecord& record, const std::function<void(const Epoch&)>& on_epoch);

 private:
  Result<Epoch> Train(uint64_t number);
  void OnStep(uint64_t steps, double mean_loss);

  const TrainSettings& settings_;
  const Workshop& shop_;
  Narrator& narrator_;
  const std::atomic<bool>& interrupted_;
  std::unique_ptr<learner::Trainer> trainer_;
  std::unique_ptr<learner::Evaluator> tester_;
  std::unique_ptr<learner::Evaluator> validator_;  // null without a validation set
  uint64_t epoch_ = 0;
  std::string accuracy_;  // of the epoch before, for the narrator
  std::chrono::steady_clock::time_point epoch_began_;
  std::stop_source stop_;
};

}  // namespace metis::task
