// Evaluation of a model on a data set that stays where it is: only counts and a loss come out.
// Runs beside training with its own instance; one thread uses an instance at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "metis/core/confusion.h"
#include "metis/core/model.h"
#include "metis/core/result.h"

namespace metis::learner {

struct Evaluation {
  ConfusionCounts counts;
  double loss = 0;  // mean cross-entropy; 0 for an empty set
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  virtual Result<Evaluation> Evaluate(const Model& model) = 0;

  // Examples of each class: constants of the data set, declared when joining.
  virtual std::vector<uint64_t> class_counts() const = 0;
  virtual uint64_t batches() const = 0;  // mini-batches of one evaluation
};

}  // namespace metis::learner
