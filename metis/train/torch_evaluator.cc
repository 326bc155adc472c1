#include <algorithm>
#include <numeric>
#include <utility>

#include "metis/core/check.h"
#include "metis/train/batch.h"
#include "metis/train/instance_pool.h"
#include "metis/train/layout.h"
#include "metis/train/runtime.h"
#include "metis/train/scores.h"
#include "metis/train/suitable.h"
#include "metis/train/torch_trainer.h"

namespace metis::train {
namespace {

using learner::Evaluation;

uint32_t Largest(const float* scores, int64_t classes) {
  return static_cast<uint32_t>(std::max_element(scores, scores + classes) - scores);
}

class TorchEvaluator final : public learner::Evaluator {
 public:
  TorchEvaluator(ArchitecturePtr architecture, Examples examples,
                 const learner::TrainingSettings& settings)
      : architecture_(std::move(architecture)),
        examples_(std::move(examples)),
        batch_size_(settings.batch_size),
        precision_(settings.precision) {
    METIS_CHECK(batch_size_ > 0);
  }

  Result<Evaluation> Evaluate(const Model& model) override;

  Declared declared() const override {
    std::vector<uint64_t> counts = examples_.ClassCounts();
    counts.resize(architecture_->settings().classes);
    return counts;
  }
  uint64_t batches() const override { return (examples_.size() + batch_size_ - 1) / batch_size_; }

 private:
  // Adds the batch to the counts; returns the sum of its losses.
  double Count(Instance& instance, const Batch& batch, ConfusionCounts& counts) const;

  const ArchitecturePtr architecture_;
  const Examples examples_;
  const uint32_t batch_size_;
  const learner::Precision precision_;
};

double TorchEvaluator::Count(Instance& instance, const Batch& batch,
                             ConfusionCounts& counts) const {
  const bool shared = architecture_->settings().share_statistics;
  const Mode mode = shared ? Mode::kEvaluation : Mode::kBatchStatistics;
  const at::Tensor scores = Scores(instance, batch.input(), mode, precision_, 0).contiguous();
  const at::Tensor losses =
      at::cross_entropy_loss(scores, batch.labels(), {}, at::Reduction::None).contiguous();
  const int64_t classes = scores.size(1);
  double sum = 0;
  for (int64_t i = 0; i < scores.size(0); ++i) {
    const auto actual = static_cast<uint32_t>(batch.labels().data_ptr<int64_t>()[i]);
    counts.Count(actual, Largest(scores.data_ptr<float>() + i * classes, classes));
    sum += static_cast<double>(losses.data_ptr<float>()[i]);
  }
  return sum;
}

Result<Evaluation> TorchEvaluator::Evaluate(const Model& model) {
  if (Result<void> same = CheckSchema(model, *architecture_); !same) return same.error();
  ConfusionCounts counts(architecture_->settings().classes);
  if (examples_.size() == 0) return Evaluation{std::move(counts), 0};
  double loss = 0;
  Result<void> computed = Compute("evaluating a model", [&] {
    at::NoGradGuard no_gradient;
    const Layout& layout = architecture_->layout();
    const at::Tensor values = at::zeros({static_cast<int64_t>(layout.size())}, at::kFloat);
    layout.Read(model, values);
    InstancePool::Lease instance = architecture_->instances().Lend();
    layout.Bind(values, *instance);
    const size_t most = std::min<size_t>(examples_.size(), batch_size_);
    Batch batch(examples_, architecture_->preparation(), most);
    std::vector<uint32_t> members(most);
    for (size_t first = 0; first < examples_.size(); first += most) {
      members.resize(std::min(most, examples_.size() - first));
      std::iota(members.begin(), members.end(), static_cast<uint32_t>(first));
      batch.Fill(members, nullptr);
      loss += Count(*instance, batch, counts);
    }
  });
  if (!computed) return computed.error();
  return Evaluation{std::move(counts), loss / static_cast<double>(examples_.size())};
}

}  // namespace

Result<std::unique_ptr<learner::Evaluator>> MakeEvaluator(
    ArchitecturePtr architecture, Examples examples, const learner::TrainingSettings& settings) {
  if (Result<void> fit = CheckSuitable(*architecture, examples); !fit) return fit.error();
  return std::unique_ptr<learner::Evaluator>(
      std::make_unique<TorchEvaluator>(std::move(architecture), std::move(examples), settings));
}

}  // namespace metis::train
