// The list of all parts that policies are made of: one line for each, in the order in which the
// reference names them; the first of a kind is what a federation has where nothing is said. A part
// is one file beside this one, KIND_NAME.cc, which defines the function that its line declares:
//
//   PART(Weighting, Equal)   const federation::WeightingPart& EqualWeighting(), weighting_equal.cc
//
// An explicit list: static libraries drop what only registers itself. Constant; threads may share.
#pragma once

#include <vector>

#include "metis/federation/part.h"

// clang-format off
#define METIS_POLICY_PARTS(PART) \
  PART(Protocol, Synchronous) \
  PART(Protocol, Asynchronous) \
  PART(Protocol, FedAsync) \
  PART(Aggregator, Sums) \
  PART(Aggregator, Mix) \
  PART(Optimizer, Identity) \
  PART(Weighting, TrainingExamples) \
  PART(Weighting, Validation) \
  PART(Weighting, Equal) \
  PART(Trigger, Epochs) \
  PART(Trigger, Adaptive) \
  PART(Trainers, All) \
  PART(Evaluators, AllOthers) \
  PART(Evaluators, Sample)
// clang-format on

namespace metis::policy {

#define METIS_DECLARE_PART(Kind, Name) const federation::Kind##Part& Name##Kind();
METIS_POLICY_PARTS(METIS_DECLARE_PART)
#undef METIS_DECLARE_PART

// In the order of the list.
struct Parts {
  std::vector<const federation::ProtocolPart*> protocols;
  std::vector<const federation::AggregatorPart*> aggregators;
  std::vector<const federation::OptimizerPart*> optimizers;
  std::vector<const federation::WeightingPart*> weightings;
  std::vector<const federation::TriggerPart*> triggers;
  std::vector<const federation::TrainersPart*> trainers;
  std::vector<const federation::EvaluatorsPart*> evaluators;
};
const Parts& AllParts();

}  // namespace metis::policy
