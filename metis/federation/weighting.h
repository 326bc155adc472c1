// Where a learner's contribution p_k comes from. A new scheme is one class and one line in
// MakeWeighting(). Stateless; owned by one Controller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "metis/federation/evaluation.h"
#include "metis/federation/membership.h"
#include "metis/federation/settings.h"

namespace metis::federation {

class Weighting {
 public:
  virtual ~Weighting() = default;

  // Must the candidate be sent to the other learners' evaluators first?
  virtual bool NeedsEvaluation() const = 0;

  // p_k of a model that was trained on so many examples; empty: what was gathered says too little,
  // keep the previous one.
  virtual std::optional<double> Weigh(uint64_t training_examples,
                                      const Evaluation& evaluation) const = 0;

  // Of the members as they are now.
  virtual double LargestContribution(const Membership& membership) const = 0;
};

// FedAvg: p_k is the number of training examples.
// DVW: p_k is a metric of the pooled statistics, if they cover enough of the validation examples.
std::unique_ptr<Weighting> MakeWeighting(WeightingKind kind, const ValidationSettings& validation);

}  // namespace metis::federation
