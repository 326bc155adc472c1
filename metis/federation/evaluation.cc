#include "metis/federation/evaluation.h"

#include "metis/core/planted.h"

namespace metis::federation {

Result<void> CheckStatistics(const Statistics& statistics, const Declared& declared) {
  if (Planted(PlantedBug::kForgedCounts)) return {};
  return statistics.Check(declared);
}

void EvaluationRound::Ask(LearnerId evaluator, Incarnation incarnation, Declared declared) {
  asked_[evaluator] = {incarnation, std::move(declared), State::kAwaited};
}

bool EvaluationRound::Awaits(LearnerId evaluator, Incarnation incarnation) const {
  auto found = asked_.find(evaluator);
  return !closed_ && found != asked_.end() && found->second.incarnation == incarnation &&
         found->second.state == State::kAwaited;
}

Result<void> EvaluationRound::Answer(LearnerId evaluator, const Statistics& counts) {
  Asked& asked = asked_.at(evaluator);
  METIS_CHECK(asked.state == State::kAwaited);
  asked.state = State::kSilent;
  if (Result<void> checked = CheckStatistics(counts, asked.declared); !checked) return checked;
  if (Result<void> pooled = pooled_.Add(counts); !pooled) return pooled;
  asked.state = State::kAnswered;
  return {};
}

void EvaluationRound::Silent(LearnerId evaluator) {
  auto found = asked_.find(evaluator);
  if (found != asked_.end() && found->second.state == State::kAwaited) {
    found->second.state = State::kSilent;
  }
}

void EvaluationRound::Gone(LearnerId evaluator) {
  if (complete()) return;  // the weight is fixed
  auto found = asked_.find(evaluator);
  if (found != asked_.end() && found->second.state != State::kAnswered) asked_.erase(found);
}

bool EvaluationRound::complete() const { return awaited().empty(); }

std::vector<LearnerId> EvaluationRound::awaited() const {
  std::vector<LearnerId> waiting;
  if (closed_) return waiting;
  for (const auto& [learner, asked] : asked_) {
    if (asked.state == State::kAwaited) waiting.push_back(learner);
  }
  return waiting;
}

Evaluation EvaluationRound::Gathered(bool count_own) const {
  uint64_t all = 0;
  uint64_t answered = 0;
  for (const auto& [learner, asked] : asked_) {
    uint64_t examples = asked.declared.examples();
    if (Planted(PlantedBug::kCoverageByHeads)) examples = 1;
    all += examples;
    if (asked.state == State::kAnswered) answered += examples;
  }
  Evaluation evaluation;
  evaluation.pooled = pooled_;
  // Fails only for too many examples in all, of which the others' are enough then.
  if (count_own) (void)evaluation.pooled.Add(own_counts_);
  if (count_own && Planted(PlantedBug::kOwnCountsTwice)) (void)evaluation.pooled.Add(own_counts_);
  // Where nobody else could be asked, the requester's own counts are all there is.
  evaluation.coverage = all == 0 ? 1 : static_cast<double>(answered) / static_cast<double>(all);
  return evaluation;
}

}  // namespace metis::federation
