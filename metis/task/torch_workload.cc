#include "metis/task/torch_workload.h"

#include <span>
#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/task/model_facts.h"
#include "metis/train/torch_trainer.h"

namespace metis::task {
namespace {

// With the writers, by whom examples may be dealt.
uint64_t FingerprintOf(const data::Dataset& set) {
  const uint64_t parts[] = {set.ContentFingerprint(), Fingerprint(std::as_bytes(set.writers()))};
  return Fingerprint(std::as_bytes(std::span(parts)));
}

}  // namespace

Result<std::unique_ptr<TorchWorkload>> TorchWorkload::Create(const config::Config& config,
                                                             const std::string& data_directory) {
  data::DataSource source;
  source.what = config.source.dataset;
  source.directory = data_directory;
  Result<FederationData> data = LoadFederationData(config, source);
  if (!data) return data.error();
  const data::Dataset& set = *data->train;
  Result<train::ArchitecturePtr> architecture =
      train::Architecture::For(NamedModel(config.training.model, config.source.dataset, set), set,
                               config.training.share_statistics);
  if (!architecture) return architecture.error();
  std::unique_ptr<TorchWorkload> workload(new TorchWorkload(config));
  workload->data_ = {FingerprintOf(set), FingerprintOf(*data->test.set)};
  workload->architecture_ = *std::move(architecture);
  workload->pool_ = std::make_unique<ModelPool>(workload->architecture_->schema());
  workload->initial_ = workload->architecture_->Initial(*workload->pool_, config.simulation.seed);
  Result<std::vector<Share>> shares =
      DealShares(*data, config, config.federation.membership.learners);
  if (!shares) return shares.error();
  workload->shares_ = *std::move(shares);
  workload->test_ = std::move(data->test);
  if (Result<void> ready = workload->TryAll(); !ready) return ready.error();
  return workload;
}

// So that nothing can fail once the federation runs.
Result<void> TorchWorkload::TryAll() const {
  for (uint32_t k = 0; k < learners(); ++k) {
    auto trainer = train::MakeTrainer(architecture_, shares_[k].training, config_.training, *pool_,
                                      config_.simulation.seed, LearnerId(k));
    if (!trainer) return trainer.error();
  }
  auto tester = train::MakeEvaluator(architecture_, test_, config_.training);
  if (!tester) return tester.error().In("test set");
  return {};
}

std::unique_ptr<learner::Trainer> TorchWorkload::MakeTrainer(LearnerId learner) const {
  return train::MakeTrainer(architecture_, shares_[learner.value()].training, config_.training,
                            *pool_, config_.simulation.seed, learner)
      .value();
}

std::unique_ptr<learner::Evaluator> TorchWorkload::MakeEvaluator(LearnerId learner) const {
  const train::Examples& validation = shares_[learner.value()].validation;
  if (validation.size() == 0) return nullptr;
  return train::MakeEvaluator(architecture_, validation, config_.training).value();
}

std::vector<std::unique_ptr<learner::Evaluator>> TorchWorkload::MakeTesters() const {
  std::vector<std::unique_ptr<learner::Evaluator>> testers;
  for (train::Examples& part : TestParts(test_)) {
    testers.push_back(
        train::MakeEvaluator(architecture_, std::move(part), config_.training).value());
  }
  return testers;
}

}  // namespace metis::task
