// A simulated learner's training: computed, or found in the journal of an earlier start of the same
// run. What was found is not computed again, unless the training that follows builds on it.
// One thread uses an instance at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "metis/core/ids.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"
#include "metis/sim/work_journal.h"

namespace metis::sim {

// What an epoch came to.
struct TrainedEpoch {
  uint64_t steps = 0;
  std::optional<learner::Evaluation> own;  // of the local model, where that was asked for
  uint64_t examples_computed = 0;          // 0 where it was found
};

class LocalTraining {
 public:
  // `evaluator` and `journal` may be null. The pool makes the models that are found.
  LocalTraining(LearnerId learner, std::unique_ptr<learner::Trainer> trainer,
                std::unique_ptr<learner::Evaluator> evaluator, ModelPool& pool,
                WorkJournal* journal);

  const learner::Trainer& trainer() const { return *trainer_; }
  bool has_evaluator() const { return evaluator_ != nullptr; }

  // Starts a cycle. Nothing is computed.
  void Load(ModelPtr community);
  // With `evaluate` the local model is evaluated on the learner's own validation set afterwards.
  Result<TrainedEpoch> TrainEpoch(learner::EpochKey key, bool evaluate, std::stop_token stop);
  // The local model as it is now.
  Result<ModelPtr> TakeModel();
  // On the learner's own validation set.
  Result<learner::Evaluation> Evaluate(const Model& model);

 private:
  // Brings the trainer to where the cycle is; how many examples that took.
  Result<uint64_t> CatchUp(const std::stop_token& stop);
  WorkKey KeyOf(WorkKey::Kind kind) const;  // of the latest epoch

  const LearnerId learner_;
  const std::unique_ptr<learner::Trainer> trainer_;
  const std::unique_ptr<learner::Evaluator> evaluator_;
  ModelPool& pool_;
  WorkJournal* const journal_;
  ModelPtr base_;                        // the model that the cycle began with
  std::vector<learner::EpochKey> done_;  // epochs of the cycle
  bool loaded_ = false;                  // the trainer has the cycle's model
  size_t computed_ = 0;                  // the first so many epochs were trained by the trainer
};

// What the evaluator says of the model: found in the journal (which may be null), or computed and
// kept there. `kind` and `who` name the data set.
Result<learner::Evaluation> EvaluateOnce(WorkJournal* journal, WorkKey::Kind kind, uint32_t who,
                                         learner::Evaluator& evaluator, const Model& model);

}  // namespace metis::sim
