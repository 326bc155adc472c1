#include "metis/train/torch_trainer.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/random.h"
#include "metis/core/text.h"
#include "metis/train/batch.h"
#include "metis/train/instance_pool.h"
#include "metis/train/kernels.h"
#include "metis/train/layout.h"
#include "metis/train/runtime.h"
#include "metis/train/scores.h"
#include "metis/train/suitable.h"

namespace metis::train {
namespace {

using learner::EpochKey;
using learner::EpochReport;

class TorchTrainer final : public learner::Trainer {
 public:
  TorchTrainer(ArchitecturePtr architecture, Examples examples,
               const learner::TrainingSettings& settings, ModelPool& pool, uint64_t seed,
               LearnerId learner, StepListener listener);

  Result<void> Load(const ModelPtr& community) override;
  Result<EpochReport> TrainEpoch(EpochKey key, std::stop_token stop) override;
  Result<ModelPtr> Snapshot() override;
  // The network's values, then momentum where there is any.
  Result<learner::TrainingStatePtr> Save() override;
  Result<void> Restore(const learner::TrainingState& state) override;
  bool keeps_state() const override {
    return settings_.keep_momentum || !architecture_->settings().share_statistics;
  }

  uint64_t training_examples() const override { return examples_.size(); }
  uint64_t steps_per_epoch() const override { return steps_; }

 private:
  at::Tensor NewBuffer() const;
  void BeginLocalTensors();
  // Where mini-batch `step` begins in the epoch's order; `steps_` gives the end.
  size_t First(uint64_t step) const;
  RandomKey Key(EpochKey key, Purpose purpose) const;
  double Step(Instance& instance, const Batch& batch, uint64_t draw);
  void Descend(Instance& instance);

  const ArchitecturePtr architecture_;
  const Examples examples_;
  const learner::TrainingSettings settings_;
  ModelPool& pool_;
  const uint64_t seed_;
  const LearnerId learner_;
  const StepListener listener_;
  const uint64_t steps_;

  bool loaded_ = false;
  at::Tensor weights_;   // all of the network's values, as Layout has them
  at::Tensor velocity_;  // u; undefined until the first step of a cycle, and without momentum
  at::Tensor received_;  // w_received; undefined without a proximal term
};

uint64_t Steps(const Architecture& architecture, size_t examples, uint32_t batch_size) {
  const uint64_t whole = (examples + batch_size - 1) / batch_size;
  const bool lonely = architecture.has_statistics() && examples % batch_size == 1 && whole > 1;
  return lonely && batch_size > 1 ? whole - 1 : whole;
}

TorchTrainer::TorchTrainer(ArchitecturePtr architecture, Examples examples,
                           const learner::TrainingSettings& settings, ModelPool& pool,
                           uint64_t seed, LearnerId learner, StepListener listener)
    : architecture_(std::move(architecture)),
      examples_(std::move(examples)),
      settings_(settings),
      pool_(pool),
      seed_(seed),
      learner_(learner),
      listener_(std::move(listener)),
      steps_(Steps(*architecture_, examples_.size(), settings.batch_size)) {
  METIS_CHECK(settings_.batch_size > 0);
  METIS_CHECK(pool_.schema()->hash() == architecture_->schema()->hash());
}

at::Tensor TorchTrainer::NewBuffer() const {
  return at::zeros({static_cast<int64_t>(architecture_->layout().size())}, at::kFloat);
}

// Statistics that stay with the learner begin as the network says and outlive received models.
void TorchTrainer::BeginLocalTensors() {
  const Layout& layout = architecture_->layout();
  for (size_t i = 0; i < layout.places().size(); ++i) {
    const Layout::Place& place = layout.places()[i];
    if (place.shared) continue;
    std::vector<float> values(place.size);
    architecture_->network().Begin(i, seed_, values);
    layout.View(weights_, place).copy_(at::from_blob(values.data(), place.shape, at::kFloat));
  }
}

Result<void> TorchTrainer::Load(const ModelPtr& community) {
  if (Result<void> same = CheckSchema(*community, *architecture_); !same) return same;
  return Compute("loading a model", [&] {
    const Layout& layout = architecture_->layout();
    if (!weights_.defined()) {
      weights_ = NewBuffer();
      BeginLocalTensors();
    }
    layout.Read(*community, weights_);
    if (settings_.proximal > 0) {
      if (!received_.defined()) received_ = NewBuffer();
      layout.Read(*community, received_);
    }
    if (!settings_.keep_momentum) velocity_.reset();
    loaded_ = true;
  });
}

size_t TorchTrainer::First(uint64_t step) const {
  return step == steps_ ? examples_.size() : static_cast<size_t>(step) * settings_.batch_size;
}

RandomKey TorchTrainer::Key(EpochKey key, Purpose purpose) const {
  return {.seed = seed_,
          .learner = learner_.value(),
          .cycle = key.cycle,
          .epoch = key.epoch,
          .purpose = purpose};
}

Result<EpochReport> TorchTrainer::TrainEpoch(EpochKey key, std::stop_token stop) {
  if (!loaded_) return Invalid("no model was loaded to train");
  std::vector<uint32_t> order(examples_.size());
  std::iota(order.begin(), order.end(), 0U);
  Random(Key(key, Purpose::kShuffle)).Shuffle(std::span(order));
  Random crops(Key(key, Purpose::kAugmentation));
  Random draws(Key(key, Purpose::kDropout));

  EpochReport report{.steps = steps_, .examples = examples_.size()};
  double loss = 0;
  bool stopped = false;
  Result<void> computed = Compute("training", [&] {
    if (settings_.momentum > 0 && !velocity_.defined()) velocity_ = NewBuffer();
    InstancePool::Lease instance = architecture_->instances().Lend();
    architecture_->layout().Bind(weights_, *instance);
    Batch batch(examples_, architecture_->preparation(),
                std::min<size_t>(order.size(), size_t{settings_.batch_size} + 1));
    for (uint64_t step = 0; step < steps_ && !stopped; ++step) {
      const size_t first = First(step);
      batch.Fill(std::span(order).subspan(first, First(step + 1) - first),
                 settings_.augmentation ? &crops : nullptr);
      loss += Step(*instance, batch, draws.Next());
      if (listener_) listener_(step + 1, loss / static_cast<double>(step + 1));
      stopped = stop.stop_requested();
    }
  });
  if (!computed || stopped) {
    loaded_ = false;
    return !computed ? computed.error() : Unavailable("training was stopped");
  }
  report.training_loss = loss / static_cast<double>(steps_);
  return report;
}

double TorchTrainer::Step(Instance& instance, const Batch& batch, uint64_t draw) {
  const at::Tensor scores =
      Scores(instance, batch.input(), Mode::kTraining, settings_.precision, draw);
  const at::Tensor loss = at::cross_entropy_loss(scores, batch.labels());
  loss.backward();
  Descend(instance);
  return static_cast<double>(loss.item<float>());
}

// Gradients are handed over by libtorch and let go of after the step: it need neither clear nor add
// to them.
void TorchTrainer::Descend(Instance& instance) {
  const StepSettings step = {.learning_rate = static_cast<float>(settings_.learning_rate),
                             .momentum = static_cast<float>(settings_.momentum),
                             .proximal = static_cast<float>(settings_.proximal)};
  const Layout& layout = architecture_->layout();
  const auto part = [](const at::Tensor& buffer, size_t offset) {
    return buffer.defined() ? buffer.data_ptr<float>() + offset : nullptr;
  };
  for (size_t i = 0; i < layout.places().size(); ++i) {
    const Layout::Place& place = layout.places()[i];
    at::Tensor& gradient = instance.tensors()[i].mutable_grad();
    if (!place.trained || !gradient.defined()) continue;
    at::Tensor ordered = gradient;
    if (gradient.strides() != at::IntArrayRef(place.strides)) {
      ordered = at::empty_strided(place.shape, place.strides, at::kFloat).copy_(gradient);
    }
    BestTrainKernels().step(step, part(weights_, place.offset), part(velocity_, place.offset),
                            ordered.data_ptr<float>(), part(received_, place.offset), place.size);
    gradient.reset();
  }
}

Result<ModelPtr> TorchTrainer::Snapshot() {
  if (!loaded_) return Invalid("no model was loaded to take a snapshot of");
  std::optional<ModelDraft> draft;
  Result<void> written = Compute("taking the local model", [&] {
    draft.emplace(pool_.Draft());
    architecture_->layout().Write(weights_, *draft);
  });
  if (!written) return written.error();
  return std::move(*draft).Seal();
}

Result<learner::TrainingStatePtr> TorchTrainer::Save() {
  if (!loaded_) return Invalid("no model was loaded whose training could be saved");
  auto state = std::make_shared<learner::TrainingState>();
  for (const at::Tensor* part : {&weights_, &velocity_}) {
    if (!part->defined()) continue;
    state->bytes.append(reinterpret_cast<const char*>(part->data_ptr<float>()),
                        static_cast<size_t>(part->numel()) * sizeof(float));
  }
  return learner::TrainingStatePtr(std::move(state));
}

Result<void> TorchTrainer::Restore(const learner::TrainingState& state) {
  const size_t each = architecture_->layout().size() * sizeof(float);
  const bool moving = state.bytes.size() == 2 * each;
  if (state.bytes.size() != each && !moving) {
    return Invalid(Text("a training state of ", state.bytes.size(), " bytes does not fit ",
                        architecture_->name(), ", which has ", each, " or ", 2 * each,
                        ": is it of another model?"));
  }
  return Compute("restoring training", [&] {
    if (!weights_.defined()) weights_ = NewBuffer();
    std::memcpy(weights_.data_ptr<float>(), state.bytes.data(), each);
    velocity_.reset();
    if (!moving) return;
    velocity_ = NewBuffer();
    std::memcpy(velocity_.data_ptr<float>(), state.bytes.data() + each, each);
  });
}

}  // namespace

Result<std::unique_ptr<learner::Trainer>> MakeTrainer(ArchitecturePtr architecture,
                                                      Examples examples,
                                                      const learner::TrainingSettings& settings,
                                                      ModelPool& pool, uint64_t seed,
                                                      LearnerId learner, StepListener listener) {
  if (examples.size() == 0) return Invalid(Text("learner ", learner, " has nothing to train on"));
  if (Result<void> fit = CheckSuitable(*architecture, examples); !fit) return fit.error();
  if (settings.augmentation && examples.set->shape().channels != 3) {
    return Invalid(Text("augmentation (random crops, mirrored) is for colour images; ",
                        examples.set->name(), " has examples of ",
                        FormatShape(examples.set->shape()), ": leave it off"));
  }
  if (architecture->has_statistics() && examples.size() == 1) {
    return Invalid(Text("learner ", learner, " has one training example: ", architecture->name(),
                        " normalises over batches and needs at least two"));
  }
  return std::unique_ptr<learner::Trainer>(
      std::make_unique<TorchTrainer>(std::move(architecture), std::move(examples), settings, pool,
                                     seed, learner, std::move(listener)));
}

}  // namespace metis::train
