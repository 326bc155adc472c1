// Softmax regression on the built-in task: the trainer and evaluator of simulations that need no
// libtorch. With probabilities p = softmax(W x + b), label y and a mini-batch B, each step is
//
//   loss = mean over B of -log p_y
//   grad = mean over B of (p - onehot(y)) (x, 1)  +  mu (w - w_received)
//   u = g u - eta grad;  w = w + u
//
// Computed in doubles, in one fixed order, without libm: the same bits on every platform. No
// allocation after the first epoch. Any received model is survived: one that is not finite trains
// to NaN, one with extreme values to values within the range of float.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metis/builtin/data.h"
#include "metis/core/ids.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/settings.h"
#include "metis/learner/trainer.h"

namespace metis::builtin {

// Weights as training reads them, feature by feature and the biases last, so that the inner loops
// run over classes: `stride` doubles a row, classes padded with zeros to whole lanes.
class SoftmaxWeights {
 public:
  static constexpr size_t kLanes = 4;

  SoftmaxWeights(uint32_t classes, uint32_t features);

  uint32_t classes() const { return classes_; }
  uint32_t features() const { return features_; }
  size_t stride() const { return stride_; }
  std::vector<double>& values() { return values_; }
  const std::vector<double>& values() const { return values_; }

  void Read(const Model& model);
  void Write(ModelDraft& draft) const;

  // scores = W x + b, `stride` of them.
  void Scores(const double* example, double* scores) const;

 private:
  const uint32_t classes_;
  const uint32_t features_;
  const size_t stride_;
  std::vector<double> values_;  // (features + 1) * stride
};

// One learner's training over its own examples of task.training(). Borrows task and pool.
class BuiltinTrainer final : public learner::Trainer {
 public:
  // Checked: examples are within the training set, the pool is of the task's schema, batch_size >
  // 0.
  BuiltinTrainer(const GaussianTask& task, ModelPool& pool, std::vector<uint32_t> examples,
                 const learner::TrainingSettings& settings, uint64_t seed, LearnerId learner);

  // An error if the model is of another schema.
  Result<void> Load(const ModelPtr& community) override;
  // After an error (nothing loaded, or stopped) the local model is unspecified until the next
  // Load().
  Result<learner::EpochReport> TrainEpoch(learner::EpochKey key, std::stop_token stop) override;
  Result<ModelPtr> Snapshot() override;
  // Weights and momentum as doubles.
  Result<learner::TrainingStatePtr> Save() override;
  Result<void> Restore(const learner::TrainingState& state) override;
  bool keeps_state() const override { return settings_.keep_momentum; }

  uint64_t training_examples() const override { return examples_.size(); }
  uint64_t steps_per_epoch() const override;

 private:
  double AddGradient(uint32_t example);
  double Step(std::span<const uint32_t> batch);

  const GaussianTask& task_;
  ModelPool& pool_;
  const std::vector<uint32_t> examples_;
  const learner::TrainingSettings settings_;
  const uint64_t seed_;
  const LearnerId learner_;

  bool loaded_ = false;
  SoftmaxWeights weights_;
  std::vector<double> received_;
  std::vector<double> momentum_;
  std::vector<double> gradient_;
  std::vector<double> scores_;
  std::vector<uint32_t> order_;
};

// Confusion counts and mean cross-entropy on some examples of a set. Borrows the set. A class is
// predicted where its score is the largest, the first of equals.
class BuiltinEvaluator final : public learner::Evaluator {
 public:
  // Checked: examples are within the set, batch_size > 0.
  BuiltinEvaluator(const GaussianTask& task, const ExampleSet& set, std::vector<uint32_t> examples,
                   uint32_t batch_size);

  // An error if the model is of another schema. The loss of a model that is not finite is not a
  // number.
  Result<learner::Evaluation> Evaluate(const Model& model) override;

  Declared declared() const override { return class_counts_; }
  uint64_t batches() const override;

 private:
  const SchemaPtr schema_;
  const ExampleSet& set_;
  const std::vector<uint32_t> examples_;
  const uint32_t batch_size_;
  std::vector<uint64_t> class_counts_;

  SoftmaxWeights weights_;
  std::vector<double> scores_;
};

}  // namespace metis::builtin
