#include "apps/torch_workload.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "metis/core/text.h"
#include "metis/data/faulty_labels.h"
#include "metis/train/torch_trainer.h"

namespace metis::apps {
namespace {

// Tests are done side by side in so many parts, whatever the number of threads.
constexpr size_t kTestParts = 8;

// Draws that concern no learner.
constexpr uint64_t kNobody = UINT64_MAX;

// Divides the indices of a set by class: `fraction` of them second.
data::Split Divide(const data::Dataset& set, double fraction, uint64_t seed) {
  std::vector<uint32_t> all(set.size());
  std::iota(all.begin(), all.end(), 0U);
  return data::StratifiedSplit(all, set.labels(), set.classes(), fraction, seed, kNobody);
}

std::vector<uint32_t> LabelsOf(const data::Dataset& set, const std::vector<uint32_t>& examples) {
  std::vector<uint32_t> labels;
  labels.reserve(examples.size());
  for (uint32_t example : examples) labels.push_back(set.labels()[example]);
  return labels;
}

}  // namespace

std::string ModelFor(std::string_view dataset, const data::Dataset& set) {
  if (dataset == "cifar10") return "cifar10-cnn";
  if (dataset == "cifar100") return "resnet-cifar:50";
  if (dataset.starts_with("emnist") || dataset.find("femnist") != dataset.npos) {
    return "femnist-cnn";
  }
  const bool images = set.has_pixels() && set.shape().height >= 12 && set.shape().width >= 12;
  return images ? "mnist-cnn" : "mlp:128";
}

Result<std::unique_ptr<TorchWorkload>> TorchWorkload::Create(const config::Config& config,
                                                             const std::string& data_directory) {
  std::unique_ptr<TorchWorkload> workload(new TorchWorkload(config));
  if (Result<void> loaded = workload->Load(data_directory); !loaded) return loaded.error();
  const data::Dataset& set = *workload->train_;
  const std::string& named = config.training.model;
  Result<train::ArchitecturePtr> architecture =
      train::Architecture::For(named == "auto" ? ModelFor(config.source.dataset, set) : named, set,
                               config.training.share_statistics);
  if (!architecture) return architecture.error();
  workload->architecture_ = *std::move(architecture);
  workload->pool_ = std::make_unique<ModelPool>(workload->architecture_->schema());
  workload->initial_ = workload->architecture_->Initial(*workload->pool_, config.simulation.seed);
  Result<void> ready = workload->Deal();
  if (ready) ready = workload->TryAll();
  if (!ready) return ready.error();
  return workload;
}

Result<void> TorchWorkload::Load(const std::string& data_directory) {
  DataSource source;
  source.what = config_.source.dataset;
  source.directory = data_directory;
  Result<LoadedData> loaded = LoadData(source);
  if (!loaded) return loaded.error();
  const uint64_t seed = config_.simulation.seed;
  train_ = std::make_shared<const data::Dataset>(std::move(loaded->train));
  dealt_.resize(train_->size());
  std::iota(dealt_.begin(), dealt_.end(), 0U);
  if (loaded->test) {
    test_ = train::Examples::All(std::make_shared<const data::Dataset>(*std::move(loaded->test)));
  } else {
    data::Split split = Divide(*train_, config_.source.test_fraction, seed);
    dealt_ = std::move(split.training);
    test_ = train::Examples::Of(train_, std::move(split.validation));
  }
  const auto thin = [&](const data::Dataset& set, const std::optional<uint64_t>& wanted,
                        std::string_view key, std::vector<uint32_t>& indices) -> Result<void> {
    if (!wanted || *wanted == indices.size()) return {};
    if (*wanted > indices.size()) {
      return Invalid(Text(key, " = ", *wanted, ": ", set.name(), " has ", indices.size()));
    }
    const double part = static_cast<double>(*wanted) / static_cast<double>(indices.size());
    indices =
        data::StratifiedSplit(indices, set.labels(), set.classes(), part, seed, kNobody).validation;
    return {};
  };
  if (Result<void> thinned = thin(*train_, config_.source.examples, "data.examples", dealt_);
      !thinned) {
    return thinned.error();
  }
  std::vector<uint32_t> tested = test_.indices;
  if (Result<void> thinned =
          thin(*test_.set, config_.source.test_examples, "data.test_examples", tested);
      !thinned) {
    return thinned.error();
  }
  if (tested.size() != test_.size()) test_ = train::Examples::Of(test_.set, std::move(tested));
  return {};
}

// Partitions number the dealt examples; sites number those of the data set.
Result<void> TorchWorkload::Deal() {
  const uint32_t learners = config_.federation.membership.learners;
  const uint32_t classes = train_->classes();
  const uint64_t seed = config_.simulation.seed;
  if (Result<void> fits = data::CheckFaultyLabels(config_.source.faulty, learners, classes);
      !fits) {
    return fits.error().In("data.faulty");
  }
  std::vector<uint32_t> writers;
  for (size_t i = 0; train_->has_writers() && i < dealt_.size(); ++i) {
    writers.push_back(train_->writers()[dealt_[i]]);
  }
  Result<data::Partition> partition = data::MakePartition(LabelsOf(*train_, dealt_), classes,
                                                          learners, config_.data, seed, writers);
  if (!partition) return partition.error();

  std::vector<uint32_t> labels(train_->labels().begin(), train_->labels().end());
  const bool validation = federation::NeedsValidationSet(config_.federation.policy);
  for (uint32_t k = 0; k < learners; ++k) {
    std::vector<uint32_t> own;
    for (uint32_t place : partition->shares[k].examples) own.push_back(dealt_[place]);
    for (const data::FaultyLabels& faulty : config_.source.faulty) {
      if (faulty.learner == k) data::SpoilLabels(faulty, own, classes, seed, labels);
    }
    data::Split split{own, {}};
    if (validation) {
      split = data::StratifiedSplit(own, labels, classes, config_.training.validation_fraction,
                                    seed, k);
    }
    Site site{train::Examples::Of(train_, std::move(split.training)),
              train::Examples::Of(train_, std::move(split.validation)),
              partition->shares[k].class_counts};
    for (train::Examples* part : {&site.training, &site.validation}) {
      for (size_t i = 0; i < part->size(); ++i) part->labels[i] = labels[part->indices[i]];
    }
    sites_.push_back(std::move(site));
  }
  return {};
}

// So that nothing can fail once the federation runs.
Result<void> TorchWorkload::TryAll() const {
  for (uint32_t k = 0; k < learners(); ++k) {
    auto trainer = train::MakeTrainer(architecture_, sites_[k].training, config_.training, *pool_,
                                      config_.simulation.seed, LearnerId(k));
    if (!trainer) return trainer.error();
  }
  auto tester = train::MakeEvaluator(architecture_, test_, config_.training);
  if (!tester) return tester.error().In("test set");
  return {};
}

std::unique_ptr<learner::Trainer> TorchWorkload::MakeTrainer(LearnerId learner) const {
  return train::MakeTrainer(architecture_, sites_[learner.value()].training, config_.training,
                            *pool_, config_.simulation.seed, learner)
      .value();
}

std::unique_ptr<learner::Evaluator> TorchWorkload::MakeEvaluator(LearnerId learner) const {
  const train::Examples& validation = sites_[learner.value()].validation;
  if (validation.size() == 0) return nullptr;
  return train::MakeEvaluator(architecture_, validation, config_.training).value();
}

std::vector<std::unique_ptr<learner::Evaluator>> TorchWorkload::MakeTesters() const {
  std::vector<std::unique_ptr<learner::Evaluator>> testers;
  const size_t parts = std::min(kTestParts, std::max<size_t>(1, test_.size()));
  for (size_t part = 0; part < parts; ++part) {
    const auto first = static_cast<std::ptrdiff_t>(part * test_.size() / parts);
    const auto last = static_cast<std::ptrdiff_t>((part + 1) * test_.size() / parts);
    std::vector<uint32_t> indices(test_.indices.begin() + first, test_.indices.begin() + last);
    testers.push_back(train::MakeEvaluator(architecture_,
                                           train::Examples::Of(test_.set, std::move(indices)),
                                           config_.training)
                          .value());
  }
  return testers;
}

}  // namespace metis::apps
