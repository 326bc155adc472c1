#include "metis/sim/community_oracle.h"

#include <algorithm>
#include <cmath>

#include "metis/core/text.h"

namespace metis::sim {

using federation::CommittedUpdate;
using federation::EvaluationTerms;

// --- The community model
// -------------------------------------------------------------------------------

CommunityOracle::CommunityOracle(const federation::Settings& settings, const Model& initial)
    : settings_(settings),
      aggregator_(settings.policy.aggregator->expect(settings, initial)),
      optimizer_(settings.policy.optimizer->expect(settings)),
      expected_(initial.parameters().begin(), initial.parameters().end()) {}

std::optional<std::string> CommunityOracle::Committed(const federation::CommunityCommitted& commit,
                                                      const std::vector<ModelPtr>& models) {
  std::vector<federation::AggregatorOracle::Term> terms;
  for (size_t i = 0; i < models.size(); ++i) {
    terms.push_back({commit.updates[i].id.learner, commit.updates[i].contribution, models[i]});
  }
  if (commit.withdrawn) {
    aggregator_->Withdrawn(*commit.withdrawn);
  } else if (settings_.policy.protocol->rounds) {
    aggregator_->ReplacedAll(terms);
  } else {
    for (const auto& term : terms) aggregator_->Replaced(term);
  }
  const double total = aggregator_->total_contribution();
  if (std::abs(total - commit.total_contribution) > 1e-6 * (1 + total)) {
    return Text("P is ", commit.total_contribution, ", the contributions add up to ", total);
  }
  expected_ = optimizer_->Step(expected_, aggregator_->aggregate());
  for (size_t i = 0; i < expected_.size(); ++i) {
    double actual = static_cast<double>(commit.model->parameters()[i]);
    if (std::abs(actual - expected_[i]) <= 1e-5 * (1 + std::abs(expected_[i]))) continue;
    return Text("parameter ", i, " of version ", commit.version, " is ", actual,
                ", the learners' models give ", expected_[i]);
  }
  return std::nullopt;
}

// --- Contributions
// -------------------------------------------------------------------------------------

bool RowsAre(const ConfusionCounts& counts, const std::vector<uint64_t>& rows) {
  if (counts.classes() != rows.size()) return false;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    double sum = 0;
    for (uint32_t j = 0; j < counts.classes(); ++j) sum += static_cast<double>(counts.at(i, j));
    if (sum != static_cast<double>(rows[i])) return false;
  }
  return true;
}

namespace {

std::optional<EvaluationTerms> TermsOf(const federation::Settings& settings) {
  const federation::WeightingPart& weighting = *settings.policy.weighting;
  if (settings.policy.aggregator->weighs || weighting.evaluation == nullptr) return std::nullopt;
  return weighting.evaluation(settings);
}

}  // namespace

EvaluationOracle::EvaluationOracle(const federation::Settings& settings,
                                   const CommunityOracle& community)
    : settings_(settings), community_(community), terms_(TermsOf(settings)) {}

void EvaluationOracle::Joined(const federation::LearnerJoined& event) {
  declared_[event.learner] = event;
  Gone(event.learner);
}

void EvaluationOracle::Gone(LearnerId evaluator) {
  for (auto& [id, round] : rounds_) {
    if (round.weighed || Complete(round)) continue;
    auto found = round.asked.find(evaluator);
    if (found != round.asked.end() && !found->second.answered) round.asked.erase(found);
  }
}

void EvaluationOracle::Pool(Round& round, const ConfusionCounts& counts) {
  std::vector<std::vector<double>>& pooled = round.facts.pooled;
  pooled.resize(counts.classes(), std::vector<double>(counts.classes()));
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    for (uint32_t j = 0; j < counts.classes(); ++j) {
      pooled[i][j] += static_cast<double>(counts.at(i, j));
    }
  }
}

void EvaluationOracle::Accepted(const federation::UpdateReceived& update, Instant now) {
  Round& round = rounds_[update.id];
  round.accepted = now;
  round.facts.learner = update.id.learner;
  round.facts.training_examples = declared_[update.id.learner].training_examples;
  round.facts.steps = update.steps;
  round.facts.cycle = update.cycle;
  if (terms_ && terms_->count_own) Pool(round, update.own_counts.AsConfusion());
}

std::optional<std::string> EvaluationOracle::TakenUp(
    const federation::UpdateReceived& update,
    const std::vector<federation::RequestEvaluation>& requests,
    const std::vector<LearnerId>& live) const {
  std::vector<LearnerId> able;
  for (LearnerId learner : live) {
    const std::vector<uint64_t>& counts = declared_.at(learner).validation_counts.class_counts();
    bool has_data = std::any_of(counts.begin(), counts.end(), [](uint64_t n) { return n > 0; });
    if (terms_ && has_data && learner != update.id.learner) able.push_back(learner);
  }
  std::vector<LearnerId> asked;
  for (const federation::RequestEvaluation& request : requests) {
    auto about = [&](std::string_view what) {
      return Text("learner ", request.evaluator, " was asked to evaluate the update of learner ",
                  update.id.learner, what);
    };
    const bool may = std::find(able.begin(), able.end(), request.evaluator) != able.end();
    const bool twice = std::find(asked.begin(), asked.end(), request.evaluator) != asked.end();
    if (!may || twice) return about(" twice, or should not have been");
    if (request.incarnation != declared_.at(request.evaluator).incarnation) {
      return about(" in a life that is not its present one");
    }
    if (request.model->Fingerprint() != update.model->Fingerprint()) {
      return about(" with another model");
    }
    asked.push_back(request.evaluator);
  }
  return settings_.policy.evaluators->expect(settings_, update.id, able, asked);
}

void EvaluationOracle::Asked(const federation::RequestEvaluation& request) {
  rounds_[request.update].asked[request.evaluator] = {
      declared_[request.evaluator].validation_counts.class_counts(), false, false};
}

void EvaluationOracle::Counted(const federation::CountsReceived& event) {
  auto found = rounds_.find(event.update);
  if (found == rounds_.end() || found->second.weighed) return;
  if (declared_[event.evaluator].incarnation != event.incarnation) return;
  auto asked = found->second.asked.find(event.evaluator);
  if (asked == found->second.asked.end()) return;
  Evaluator& evaluator = asked->second;
  if (evaluator.answered || evaluator.refused) return;
  if (RowsAre(event.counts.AsConfusion(), evaluator.rows)) {
    evaluator.answered = true;
    Pool(found->second, event.counts.AsConfusion());
  } else {
    evaluator.refused = true;
  }
}

void EvaluationOracle::Failed(const federation::EvaluationFailed& event) {
  auto found = rounds_.find(event.update);
  if (found == rounds_.end() || declared_[event.evaluator].incarnation != event.incarnation) return;
  auto asked = found->second.asked.find(event.evaluator);
  if (asked != found->second.asked.end() && !asked->second.answered) asked->second.refused = true;
}

bool EvaluationOracle::Complete(const Round& round) {
  return std::all_of(round.asked.begin(), round.asked.end(), [](const auto& asked) {
    return asked.second.answered || asked.second.refused;
  });
}

std::optional<std::string> EvaluationOracle::TooLate(const federation::CancelEvaluation& cancel,
                                                     Instant now) {
  Round& round = rounds_[cancel.update];
  auto found = round.asked.find(cancel.evaluator);
  if (found != round.asked.end()) found->second.refused = true;
  const Duration deadline = terms_ ? terms_->deadline : Duration();
  if (now >= round.accepted + deadline) return std::nullopt;
  return Text("learner ", cancel.evaluator, " had ", Fixed((now - round.accepted).seconds(), 3),
              " s to evaluate the update of learner ", cancel.update.learner, ", not ",
              Fixed(deadline.seconds(), 3));
}

void EvaluationOracle::Weighed(const federation::UpdateId& id, double previous) {
  Round& round = rounds_[id];
  if (!round.weighed) round.weighed = previous;
}

double EvaluationOracle::Coverage(const Round& round) {
  double asked = 0, answered = 0;
  for (const auto& [learner, evaluator] : round.asked) {
    double rows = 0;
    for (uint64_t row : evaluator.rows) rows += static_cast<double>(row);
    asked += rows;
    if (evaluator.answered) answered += rows;
  }
  return asked > 0 ? answered / asked : 1;
}

std::optional<std::string> EvaluationOracle::Committed(const CommittedUpdate& update,
                                                       double previous) {
  Round& round = rounds_[update.id];
  round.facts.coverage = Coverage(round);
  round.facts.staleness = update.staleness;
  round.facts.previous = round.weighed.value_or(previous);
  const std::optional<double> weight =
      settings_.policy.aggregator->weighs
          ? community_.OwnWeight(update.version_staleness)
          : settings_.policy.weighting->expect(settings_, round.facts);
  const double expected = weight.value_or(round.facts.previous);
  const bool kept_previous = !weight.has_value();
  const double coverage = round.facts.coverage;
  if (std::abs(coverage - update.coverage) > 1e-9 || kept_previous != update.kept_previous) {
    return Text("learner ", update.id.learner, " was weighed with coverage ", update.coverage,
                update.kept_previous ? " and kept its p" : "", ", those who answered cover ",
                coverage);
  }
  if (std::abs(expected - update.contribution) > 1e-7 * (1 + expected)) {
    return Text("p of learner ", update.id.learner, " is ", update.contribution, " with coverage ",
                update.coverage, ", its evaluations give ", expected, " with coverage ", coverage);
  }
  return std::nullopt;
}

}  // namespace metis::sim
