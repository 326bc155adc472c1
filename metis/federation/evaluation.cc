#include "metis/federation/evaluation.h"

#include <numeric>

#include "metis/core/planted.h"
#include "metis/core/text.h"

namespace metis::federation {

Result<void> CheckRowSums(const ConfusionCounts& counts, const std::vector<uint64_t>& declared) {
  if (Planted(PlantedBug::kForgedCounts)) return {};
  if (counts.classes() != declared.size()) {
    return Invalid(Text("counts of ", counts.classes(), " classes, but ", declared.size(),
                        " were declared on joining"));
  }
  for (uint32_t actual = 0; actual < counts.classes(); ++actual) {
    // Cell by cell, so that forged numbers cannot wrap around to the right sum.
    uint64_t left = declared[actual];
    for (uint32_t predicted = 0; predicted < counts.classes(); ++predicted) {
      uint64_t cell = counts.at(actual, predicted);
      if (cell > left) left = UINT64_MAX;
      if (left == UINT64_MAX) break;
      left -= cell;
    }
    if (left != 0) {
      return Invalid(Text("counts of class ", actual, " do not add up to the ", declared[actual],
                          " validation examples declared on joining"));
    }
  }
  return {};
}

void EvaluationRound::Ask(LearnerId evaluator, Incarnation incarnation,
                          std::vector<uint64_t> declared_counts) {
  asked_[evaluator] = {incarnation, std::move(declared_counts), State::kAwaited};
}

bool EvaluationRound::Awaits(LearnerId evaluator, Incarnation incarnation) const {
  auto found = asked_.find(evaluator);
  return !closed_ && found != asked_.end() && found->second.incarnation == incarnation &&
         found->second.state == State::kAwaited;
}

Result<void> EvaluationRound::Answer(LearnerId evaluator, const ConfusionCounts& counts) {
  Asked& asked = asked_.at(evaluator);
  METIS_CHECK(asked.state == State::kAwaited);
  asked.state = State::kSilent;
  Result<void> checked = CheckRowSums(counts, asked.declared_counts);
  if (!checked) return checked;
  asked.state = State::kAnswered;
  pooled_.Add(counts);
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
    uint64_t examples =
        std::accumulate(asked.declared_counts.begin(), asked.declared_counts.end(), uint64_t{0});
    if (Planted(PlantedBug::kCoverageByHeads)) examples = 1;
    all += examples;
    if (asked.state == State::kAnswered) answered += examples;
  }
  Evaluation evaluation;
  evaluation.pooled = pooled_;
  if (count_own) evaluation.pooled.Add(own_counts_);
  if (count_own && Planted(PlantedBug::kOwnCountsTwice)) evaluation.pooled.Add(own_counts_);
  // Where nobody else could be asked, the requester's own counts are all there is.
  evaluation.coverage = all == 0 ? 1 : static_cast<double>(answered) / static_cast<double>(all);
  return evaluation;
}

}  // namespace metis::federation
