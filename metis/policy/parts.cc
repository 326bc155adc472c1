#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

void Add(Parts& parts, const federation::ProtocolPart& part) { parts.protocols.push_back(&part); }
void Add(Parts& parts, const federation::AggregatorPart& part) {
  parts.aggregators.push_back(&part);
}
void Add(Parts& parts, const federation::OptimizerPart& part) { parts.optimizers.push_back(&part); }
void Add(Parts& parts, const federation::WeightingPart& part) { parts.weightings.push_back(&part); }
void Add(Parts& parts, const federation::TriggerPart& part) { parts.triggers.push_back(&part); }
void Add(Parts& parts, const federation::TrainersPart& part) { parts.trainers.push_back(&part); }
void Add(Parts& parts, const federation::EvaluatorsPart& part) {
  parts.evaluators.push_back(&part);
}

Parts List() {
  Parts parts;
#define METIS_ADD_PART(Kind, Name) Add(parts, Name##Kind());
  METIS_POLICY_PARTS(METIS_ADD_PART)
#undef METIS_ADD_PART
  return parts;
}

}  // namespace

const Parts& AllParts() {
  static const auto* parts = new Parts(List());
  return *parts;
}

}  // namespace metis::policy
