#include "metis/sim/local_training.h"

#include <cstring>
#include <utility>

#include "metis/core/archive.h"
#include "metis/core/check.h"

namespace metis::sim {
namespace {

// What the journal keeps of an epoch and of an evaluation.
struct KeptEvaluation {
  Statistics counts;
  double loss = 0;
};

template <typename A>
void Fields(A& archive, KeptEvaluation& kept) {
  archive("counts", kept.counts);
  archive("loss", kept.loss);
}

struct KeptEpoch {
  uint64_t steps = 0;
  std::optional<KeptEvaluation> own;
};

template <typename A>
void Fields(A& archive, KeptEpoch& kept) {
  archive("steps", kept.steps);
  archive("own", kept.own);
}

template <typename T>
std::string Encode(const T& kept) {
  BinaryWriter writer;
  writer("kept", kept);
  return std::move(writer).Take().bytes;
}

// Empty where there is nothing, or nothing that can be read: then it is computed.
template <typename T>
std::optional<T> Find(WorkJournal* journal, const WorkKey& key) {
  if (journal == nullptr) return std::nullopt;
  std::optional<std::string> bytes = journal->Find(key);
  if (!bytes) return std::nullopt;
  const Archived archived{*std::move(bytes), {}};
  BinaryReader reader(archived);
  T kept;
  reader("kept", kept);
  if (!reader.Finish()) return std::nullopt;
  return kept;
}

}  // namespace

LocalTraining::LocalTraining(LearnerId learner, std::unique_ptr<learner::Trainer> trainer,
                             std::unique_ptr<learner::Evaluator> evaluator, ModelPool& pool,
                             WorkJournal* journal)
    : learner_(learner),
      trainer_(std::move(trainer)),
      evaluator_(std::move(evaluator)),
      pool_(pool),
      journal_(journal) {}

void LocalTraining::Load(ModelPtr community) {
  base_ = std::move(community);
  done_.clear();
  loaded_ = false;
  computed_ = 0;
}

WorkKey LocalTraining::KeyOf(WorkKey::Kind kind) const {
  METIS_CHECK(!done_.empty());
  return {kind, learner_.value(), base_->Fingerprint(), done_.back().cycle, done_.back().epoch};
}

Result<uint64_t> LocalTraining::CatchUp(const std::stop_token& stop) {
  METIS_CHECK(base_ != nullptr);
  if (!loaded_) {
    if (Result<void> loaded = trainer_->Load(base_); !loaded) return loaded.error();
    loaded_ = true;
  }
  uint64_t examples = 0;
  for (; computed_ < done_.size(); ++computed_) {
    Result<learner::EpochReport> report = trainer_->TrainEpoch(done_[computed_], stop);
    if (!report) return report.error();
    examples += report->examples;
  }
  return examples;
}

Result<TrainedEpoch> LocalTraining::TrainEpoch(learner::EpochKey key, bool evaluate,
                                               std::stop_token stop) {
  done_.push_back(key);
  const WorkKey work = KeyOf(WorkKey::Kind::kEpoch);
  std::optional<KeptEpoch> kept = Find<KeptEpoch>(journal_, work);
  if (kept && kept->own.has_value() == evaluate) {
    TrainedEpoch found{kept->steps, std::nullopt, 0};
    if (evaluate) found.own = learner::Evaluation{kept->own->counts, kept->own->loss};
    return found;
  }
  Result<uint64_t> examples = CatchUp(stop);
  if (!examples) return examples.error();
  TrainedEpoch trained{trainer_->steps_per_epoch(), std::nullopt, *examples};
  KeptEpoch keep{trained.steps, std::nullopt};
  if (evaluate) {
    Result<ModelPtr> model = trainer_->Snapshot();
    if (!model) return model.error();
    Result<learner::Evaluation> own = evaluator_->Evaluate(**model);
    if (!own) return own.error();
    keep.own = KeptEvaluation{own->counts, own->loss};
    trained.own = *std::move(own);
  }
  if (journal_ != nullptr) journal_->Keep(work, Encode(keep));
  return trained;
}

Result<ModelPtr> LocalTraining::TakeModel() {
  const WorkKey work = KeyOf(WorkKey::Kind::kModel);
  if (journal_ != nullptr) {
    const std::optional<std::string> bytes = journal_->Find(work);
    if (bytes && bytes->size() == base_->bytes().size()) {
      ModelDraft draft = pool_.Draft();
      std::memcpy(draft.parameters().data(), bytes->data(), bytes->size());
      return std::move(draft).Seal();
    }
  }
  if (Result<uint64_t> caught_up = CatchUp({}); !caught_up) return caught_up.error();
  Result<ModelPtr> model = trainer_->Snapshot();
  if (!model || journal_ == nullptr) return model;
  const std::span<const std::byte> bytes = (*model)->bytes();
  journal_->Keep(work, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return model;
}

Result<learner::Evaluation> LocalTraining::Evaluate(const Model& model) {
  return EvaluateOnce(journal_, WorkKey::Kind::kEvaluation, learner_.value(), *evaluator_, model);
}

Result<learner::Evaluation> EvaluateOnce(WorkJournal* journal, WorkKey::Kind kind, uint32_t who,
                                         learner::Evaluator& evaluator, const Model& model) {
  if (journal == nullptr) return evaluator.Evaluate(model);
  const WorkKey work{.kind = kind, .who = who, .model = model.Fingerprint()};
  if (std::optional<KeptEvaluation> kept = Find<KeptEvaluation>(journal, work)) {
    return learner::Evaluation{kept->counts, kept->loss};
  }
  Result<learner::Evaluation> evaluated = evaluator.Evaluate(model);
  if (evaluated) journal->Keep(work, Encode(KeptEvaluation{evaluated->counts, evaluated->loss}));
  return evaluated;
}

}  // namespace metis::sim
