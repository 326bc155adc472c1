#include "metis/builtin/trainer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "metis/core/check.h"
#include "metis/core/fingerprint.h"
#include "metis/core/math.h"
#include "metis/core/random.h"
#include "metis/core/text.h"

namespace metis::builtin {
namespace {

constexpr size_t kLanes = SoftmaxWeights::kLanes;

// A double beyond the range of float becomes the largest one; NaN stays.
float ToFloat(double value) {
  constexpr double kLimit = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kLimit, kLimit));
}

Result<void> CheckSchema(const Model& model, const ModelSchema& schema) {
  if (model.schema()->hash() == schema.hash()) return {};
  return Invalid(Text("the model's schema is ", Hex(model.schema()->hash()),
                      ", the built-in task's is ", Hex(schema.hash()),
                      ": was it made for other classes or features?"));
}

// Turns scores into e^(score - largest) and returns -log softmax(scores)[label].
double Exponentiate(std::span<double> scores, uint32_t label, double& sum) {
  double largest = scores[0];
  for (double score : scores) largest = score > largest ? score : largest;
  double own = scores[label] - largest;
  sum = 0;
  for (double& score : scores) {
    score = PortableExp(score - largest);
    sum += score;
  }
  return PortableLog(sum) - own;
}

uint64_t Batches(size_t examples, uint32_t batch_size) {
  return (examples + batch_size - 1) / batch_size;
}

void CheckExamples(const std::vector<uint32_t>& examples, const ExampleSet& set) {
  for (uint32_t example : examples) METIS_CHECK(example < set.size());
}

}  // namespace

SoftmaxWeights::SoftmaxWeights(uint32_t classes, uint32_t features)
    : classes_(classes),
      features_(features),
      stride_((size_t{classes} + kLanes - 1) / kLanes * kLanes),
      values_((size_t{features} + 1) * stride_) {}

void SoftmaxWeights::Read(const Model& model) {
  std::span<const float> weight = model.tensor(0);
  std::span<const float> bias = model.tensor(1);
  for (size_t c = 0; c < classes_; ++c) {
    for (size_t f = 0; f < features_; ++f) values_[f * stride_ + c] = weight[c * features_ + f];
    values_[features_ * stride_ + c] = bias[c];
  }
}

void SoftmaxWeights::Write(ModelDraft& draft) const {
  std::span<float> weight = draft.tensor(0);
  std::span<float> bias = draft.tensor(1);
  for (size_t c = 0; c < classes_; ++c) {
    for (size_t f = 0; f < features_; ++f) {
      weight[c * features_ + f] = ToFloat(values_[f * stride_ + c]);
    }
    bias[c] = ToFloat(values_[features_ * stride_ + c]);
  }
}

// Whole lanes with a constant count become registers; lanes never mix, so the order of additions is
// fixed.
void SoftmaxWeights::Scores(const double* example, double* scores) const {
  for (size_t c = 0; c < stride_; c += kLanes) {
    const double* row = values_.data() + c;
    double lanes[kLanes] = {};
    for (size_t f = 0; f < features_; ++f, row += stride_) {
      double feature = example[f];
      for (size_t l = 0; l < kLanes; ++l) lanes[l] += feature * row[l];
    }
    for (size_t l = 0; l < kLanes; ++l) scores[c + l] = lanes[l] + row[l];
  }
}

BuiltinTrainer::BuiltinTrainer(const GaussianTask& task, ModelPool& pool,
                               std::vector<uint32_t> examples,
                               const learner::TrainingSettings& settings, uint64_t seed,
                               LearnerId learner)
    : task_(task),
      pool_(pool),
      examples_(std::move(examples)),
      settings_(settings),
      seed_(seed),
      learner_(learner),
      weights_(task.classes(), task.features()),
      momentum_(weights_.values().size()),
      gradient_(weights_.values().size()),
      scores_(weights_.stride()) {
  METIS_CHECK(settings_.batch_size > 0);
  METIS_CHECK(pool_.schema()->hash() == task_.schema()->hash());
  CheckExamples(examples_, task_.training());
}

uint64_t BuiltinTrainer::steps_per_epoch() const {
  return Batches(examples_.size(), settings_.batch_size);
}

Result<void> BuiltinTrainer::Load(const ModelPtr& community) {
  Result<void> fits = CheckSchema(*community, *task_.schema());
  if (!fits) return fits;
  weights_.Read(*community);
  received_ = weights_.values();
  if (!settings_.keep_momentum) std::ranges::fill(momentum_, 0.0);
  loaded_ = true;
  return {};
}

Result<learner::EpochReport> BuiltinTrainer::TrainEpoch(learner::EpochKey key,
                                                        std::stop_token stop) {
  if (!loaded_) return Invalid("no model to train: Load() the community model first");
  order_ = examples_;
  Random random({.seed = seed_,
                 .learner = learner_.value(),
                 .cycle = key.cycle,
                 .epoch = key.epoch,
                 .purpose = Purpose::kShuffle});
  random.Shuffle(std::span(order_));
  learner::EpochReport report;
  double losses = 0;
  std::span<const uint32_t> rest = order_;
  while (!rest.empty()) {
    if (stop.stop_requested()) {
      return Unavailable(Text("training was stopped after ", report.steps, " of ",
                              steps_per_epoch(), " mini-batches"));
    }
    std::span<const uint32_t> batch =
        rest.first(std::min<size_t>(rest.size(), settings_.batch_size));
    rest = rest.subspan(batch.size());
    losses += Step(batch);
    ++report.steps;
    report.examples += batch.size();
  }
  if (report.steps > 0) report.training_loss = losses / static_cast<double>(report.steps);
  return report;
}

// Adds (p - onehot(y)) (x, 1) of one example to the gradient; returns its loss.
double BuiltinTrainer::AddGradient(uint32_t example) {
  const double* x = task_.training().example(example);
  uint32_t label = task_.training().labels[example];
  size_t classes = weights_.classes(), stride = weights_.stride();
  double* errors = scores_.data();
  weights_.Scores(x, errors);
  double sum = 0;
  double loss = Exponentiate(std::span(errors, classes), label, sum);
  double inverse = 1 / sum;
  for (size_t c = 0; c < classes; ++c) errors[c] *= inverse;
  errors[label] -= 1;  // the padding's scores are zero, and so are its errors
  for (size_t c = 0; c < stride; c += kLanes) {
    double lanes[kLanes];
    for (size_t l = 0; l < kLanes; ++l) lanes[l] = errors[c + l];
    double* row = gradient_.data() + c;
    for (size_t f = 0; f < weights_.features(); ++f, row += stride) {
      double feature = x[f];  // once: the compiler cannot know that rows do not overlap it
      for (size_t l = 0; l < kLanes; ++l) row[l] += feature * lanes[l];
    }
    for (size_t l = 0; l < kLanes; ++l) row[l] += lanes[l];
  }
  return loss;
}

double BuiltinTrainer::Step(std::span<const uint32_t> batch) {
  std::ranges::fill(gradient_, 0.0);
  double loss = 0;
  for (uint32_t example : batch) loss += AddGradient(example);
  double share = 1 / static_cast<double>(batch.size());
  double* w = weights_.values().data();
  const double mu = settings_.proximal, g = settings_.momentum, eta = settings_.learning_rate;
  for (size_t i = 0; i < gradient_.size(); ++i) {
    double gradient = gradient_[i] * share + mu * (w[i] - received_[i]);
    momentum_[i] = g * momentum_[i] - eta * gradient;
    w[i] += momentum_[i];
  }
  return loss * share;
}

Result<ModelPtr> BuiltinTrainer::Snapshot() {
  if (!loaded_) return Invalid("no local model yet: Load() the community model first");
  ModelDraft draft = pool_.Draft();
  weights_.Write(draft);
  return std::move(draft).Seal();
}

Result<learner::TrainingStatePtr> BuiltinTrainer::Save() {
  if (!loaded_) return Invalid("no training to save: Load() the community model first");
  auto state = std::make_shared<learner::TrainingState>();
  for (const std::vector<double>* part : {&weights_.values(), &momentum_}) {
    state->bytes.append(reinterpret_cast<const char*>(part->data()), part->size() * sizeof(double));
  }
  return learner::TrainingStatePtr(std::move(state));
}

Result<void> BuiltinTrainer::Restore(const learner::TrainingState& state) {
  const size_t half = momentum_.size() * sizeof(double);
  if (state.bytes.size() != 2 * half) {
    return Invalid(Text("a training state of ", state.bytes.size(),
                        " bytes does not fit a task of ", 2 * half,
                        " bytes: is it of another task?"));
  }
  std::memcpy(weights_.values().data(), state.bytes.data(), half);
  std::memcpy(momentum_.data(), state.bytes.data() + half, half);
  return {};
}

BuiltinEvaluator::BuiltinEvaluator(const GaussianTask& task, const ExampleSet& set,
                                   std::vector<uint32_t> examples, uint32_t batch_size)
    : schema_(task.schema()),
      set_(set),
      examples_(std::move(examples)),
      batch_size_(batch_size),
      class_counts_(task.classes()),
      weights_(task.classes(), task.features()),
      scores_(weights_.stride()) {
  METIS_CHECK(batch_size_ > 0);
  CheckExamples(examples_, set_);
  for (uint32_t example : examples_) ++class_counts_[set_.labels[example]];
}

uint64_t BuiltinEvaluator::batches() const { return Batches(examples_.size(), batch_size_); }

Result<learner::Evaluation> BuiltinEvaluator::Evaluate(const Model& model) {
  Result<void> fits = CheckSchema(model, *schema_);
  if (!fits) return fits.error();
  weights_.Read(model);
  ConfusionCounts counts(weights_.classes());
  std::span<double> scores(scores_.data(), weights_.classes());
  double losses = 0;
  for (uint32_t example : examples_) {
    weights_.Scores(set_.example(example), scores_.data());
    uint32_t label = set_.labels[example];
    uint32_t predicted = 0;
    for (uint32_t c = 1; c < scores.size(); ++c)
      predicted = scores[c] > scores[predicted] ? c : predicted;
    counts.Count(label, predicted);
    double sum = 0;
    losses += Exponentiate(scores, label, sum);
  }
  learner::Evaluation evaluation{std::move(counts), 0};
  if (!examples_.empty()) evaluation.loss = losses / static_cast<double>(examples_.size());
  return evaluation;
}

}  // namespace metis::builtin
