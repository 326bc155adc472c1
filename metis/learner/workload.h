// What a simulated federation learns: its initial model, and each learner's training and
// evaluation. Injected into the simulator, which never knows whether libtorch is behind it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"

namespace metis::learner {

class Workload {
 public:
  virtual ~Workload() = default;

  virtual ModelPool& pool() const = 0;  // synchronises itself
  virtual ModelPtr initial() const = 0;
  virtual uint32_t learners() const = 0;

  // For a new life of the learner. Learners are numbered from the largest training set down.
  virtual std::unique_ptr<learner::Trainer> MakeTrainer(LearnerId learner) const = 0;
  // On the learner's validation set; null where it has none.
  virtual std::unique_ptr<learner::Evaluator> MakeEvaluator(LearnerId learner) const = 0;
  // On the common test set, in parts that can be tested side by side. The parts are the same for
  // any number of threads: so is the sum of their losses.
  virtual std::vector<std::unique_ptr<learner::Evaluator>> MakeTesters() const = 0;

  // Training and validation examples of each class, for the record.
  virtual std::vector<uint64_t> class_counts(LearnerId learner) const = 0;
};

}  // namespace metis::learner
