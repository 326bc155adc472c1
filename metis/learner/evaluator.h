// Evaluation of a model on a data set that stays where it is: only statistics and a loss come out.
// Runs beside training with its own instance; one thread uses an instance at a time.
#pragma once

#include <cstdint>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/core/statistics.h"

namespace metis::learner {

struct Evaluation {
  Statistics counts;  // none for a task without them
  double loss = 0;    // mean cross-entropy; 0 for an empty set
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  virtual Result<Evaluation> Evaluate(const Model& model) = 0;

  // What it evaluates on: a constant of the data set, declared when joining.
  virtual Declared declared() const = 0;
  virtual uint64_t batches() const = 0;  // mini-batches of one evaluation
};

}  // namespace metis::learner
