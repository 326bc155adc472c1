// The run directory of a centralised training (docs/run-directory.md): settings, a line an epoch,
// the latest and the best model, a summary at the end. One thread uses it.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/best_score.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/learner/evaluator.h"
#include "metis/report/json_archive.h"
#include "metis/store/model_file.h"
#include "metis/task/train_settings.h"

namespace metis::task {

struct Epoch {
  uint64_t epoch = 0;  // from 1
  double training_loss = 0;
  uint64_t examples = 0;
  double seconds = 0;  // of training alone
  learner::Evaluation test = {};
  std::optional<learner::Evaluation> validation = {};
  ModelPtr model = nullptr;

  double images_per_second() const;
};

class TrainRecord {
 public:
  // The directory is made as that of any run (report/run_files.h); `facts` go with every model.
  static Result<std::unique_ptr<TrainRecord>> Create(const std::string& directory,
                                                     const TrainSettings& settings,
                                                     const store::ModelFacts& facts,
                                                     const ModelPtr& initial, bool replace);

  // Writes its line and its models: what a killed run leaves behind is whole up to here.
  Result<void> Add(const Epoch& epoch);
  // `stopped_by` is "epochs", "interrupted" or "diverged". Returns what summary.json holds.
  Result<report::Json> Finish(const std::string& stopped_by, const TrainExamples& examples);

  bool empty() const { return !last_; }
  // Of the best validation accuracy, without a validation set of the best test accuracy; the first
  // of equals. Neither is there before an epoch has ended.
  const Epoch& best() const { return *best_; }
  const Epoch& last() const { return *last_; }

 private:
  TrainRecord(std::string directory, const TrainSettings& settings, store::ModelFacts facts,
              ModelPtr initial);
  Result<void> WriteModel(const char* name, const Model& model, const Epoch* epoch) const;
  report::Json AccuracyJson() const;

  const std::string directory_;
  const TrainSettings settings_;
  const store::ModelFacts facts_;
  const ModelPtr initial_;
  std::ofstream epochs_;
  BestScore best_standing_;
  std::optional<Epoch> best_;
  std::optional<Epoch> last_;
  uint64_t examples_trained_ = 0;
  double seconds_ = 0;
};

}  // namespace metis::task
