#include "metis/sim/community_oracle.h"

#include <algorithm>
#include <cmath>

#include "metis/core/text.h"

namespace metis::sim {

using federation::CommittedUpdate;
using federation::ProtocolKind;
using federation::WeightingKind;

// --- The community model
// -------------------------------------------------------------------------------

CommunityOracle::CommunityOracle(const federation::Settings& settings, const Model& initial)
    : settings_(settings), expected_(initial.parameters().begin(), initial.parameters().end()) {}

double CommunityOracle::contribution(LearnerId learner) const {
  auto found = terms_.find(learner);
  return found == terms_.end() ? 0 : found->second.contribution;
}

void CommunityOracle::Mix(const CommittedUpdate& update, const Model& model) {
  for (size_t i = 0; i < expected_.size(); ++i) {
    double mixed = (1 - update.contribution) * expected_[i] +
                   update.contribution * static_cast<double>(model.parameters()[i]);
    expected_[i] = static_cast<double>(static_cast<float>(mixed));
  }
}

void CommunityOracle::Average() {
  double total = 0;
  std::vector<double> sums(expected_.size());
  for (const auto& [learner, term] : terms_) {
    total += term.contribution;
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += term.contribution * static_cast<double>(term.model->parameters()[i]);
    }
  }
  if (!(total > 0)) return;  // the community model stays what it was
  for (size_t i = 0; i < sums.size(); ++i) expected_[i] = sums[i] / total;
}

std::optional<std::string> CommunityOracle::Committed(const federation::CommunityCommitted& commit,
                                                      const std::vector<ModelPtr>& models) {
  const bool fedasync = settings_.policy.protocol == ProtocolKind::kFedAsync;
  if (commit.withdrawn) {
    terms_.erase(*commit.withdrawn);
  } else if (settings_.policy.protocol == ProtocolKind::kSynchronous) {
    terms_.clear();
  }
  for (size_t i = 0; i < models.size(); ++i) {
    if (fedasync) {
      Mix(commit.updates[i], *models[i]);
    } else {
      terms_[commit.updates[i].id.learner] = {commit.updates[i].contribution, models[i]};
    }
  }
  if (!fedasync) {
    double total = 0;
    for (const auto& [learner, term] : terms_) total += term.contribution;
    if (std::abs(total - commit.total_contribution) > 1e-6 * (1 + total)) {
      return Text("P is ", commit.total_contribution, ", the contributions add up to ", total);
    }
    Average();
  }
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
  round.pooled.resize(counts.classes(), std::vector<double>(counts.classes()));
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    for (uint32_t j = 0; j < counts.classes(); ++j) {
      round.pooled[i][j] += static_cast<double>(counts.at(i, j));
    }
  }
}

void EvaluationOracle::Accepted(const federation::UpdateReceived& update, Instant now) {
  Round& round = rounds_[update.id];
  round.accepted = now;
  round.training_examples = declared_[update.id.learner].training_examples;
  bool pools =
      settings_.policy.weighting == WeightingKind::kValidation && settings_.validation.count_own;
  if (pools) Pool(round, update.own_counts.AsConfusion());
}

std::optional<std::string> EvaluationOracle::TakenUp(
    const federation::UpdateReceived& update,
    const std::vector<federation::RequestEvaluation>& requests,
    const std::vector<LearnerId>& live) const {
  std::set<LearnerId> missing;
  const bool evaluated = settings_.policy.protocol != ProtocolKind::kFedAsync &&
                         settings_.policy.weighting == WeightingKind::kValidation;
  for (LearnerId learner : live) {
    const std::vector<uint64_t>& counts = declared_.at(learner).validation_counts.class_counts();
    bool has_data = std::any_of(counts.begin(), counts.end(), [](uint64_t n) { return n > 0; });
    if (evaluated && has_data && learner != update.id.learner) missing.insert(learner);
  }
  for (const federation::RequestEvaluation& request : requests) {
    auto about = [&](std::string_view what) {
      return Text("learner ", request.evaluator, " was asked to evaluate the update of learner ",
                  update.id.learner, what);
    };
    if (missing.erase(request.evaluator) == 0) return about(" twice, or should not have been");
    if (request.incarnation != declared_.at(request.evaluator).incarnation) {
      return about(" in a life that is not its present one");
    }
    if (request.model->Fingerprint() != update.model->Fingerprint()) {
      return about(" with another model");
    }
  }
  if (missing.empty()) return std::nullopt;
  return Text("the live learner ", *missing.begin(),
              " was not asked to evaluate the update of learner ", update.id.learner);
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
  if (now >= round.accepted + settings_.validation.deadline) return std::nullopt;
  return Text("learner ", cancel.evaluator, " had ", Fixed((now - round.accepted).seconds(), 3),
              " s to evaluate the update of learner ", cancel.update.learner, ", not ",
              Fixed(settings_.validation.deadline.seconds(), 3));
}

void EvaluationOracle::Weighed(const federation::UpdateId& id, double previous) {
  Round& round = rounds_[id];
  if (!round.weighed) round.weighed = previous;
}

double EvaluationOracle::Metric(const Round& round) const {
  const auto& cm = round.pooled;
  const size_t n = cm.size();
  std::vector<double> rows(n), columns(n);
  double total = 0, diagonal = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      rows[i] += cm[i][j];
      columns[j] += cm[i][j];
      total += cm[i][j];
    }
    diagonal += cm[i][i];
  }
  double f1_sum = 0, occurring = 0, recalls = 1, held = 0, rc = 0, rr = 0, cc = 0;
  for (size_t i = 0; i < n; ++i) {
    if (rows[i] + columns[i] > 0) {
      f1_sum += 2 * cm[i][i] / (rows[i] + columns[i]);
      ++occurring;
    }
    if (rows[i] > 0) {
      recalls *= cm[i][i] / rows[i];
      ++held;
    }
    rc += rows[i] * columns[i];
    rr += rows[i] * rows[i];
    cc += columns[i] * columns[i];
  }
  switch (settings_.validation.metric) {
    case metis::Metric::kMicroF1:
    case metis::Metric::kAccuracy:
      return diagonal / total;
    case metis::Metric::kMacroF1:
      return f1_sum / occurring;
    case metis::Metric::kGeometricMean:
      return std::pow(recalls, 1 / held);
    case metis::Metric::kMatthews: {
      double denominator = std::sqrt((total * total - cc) * (total * total - rr));
      double mcc = denominator == 0 ? 0 : (diagonal * total - rc) / denominator;
      return std::max(0.0, mcc);
    }
    case metis::Metric::kR2:
      break;  // there are no simulated regressions
  }
  return -1;
}

std::optional<std::string> EvaluationOracle::Committed(const CommittedUpdate& update,
                                                       double previous) {
  const Round& round = rounds_[update.id];
  double expected = 0;
  double coverage = 1;
  bool kept_previous = false;
  if (settings_.policy.protocol == ProtocolKind::kFedAsync) {
    expected =
        settings_.fedasync.alpha * std::pow(static_cast<double>(update.version_staleness) + 1,
                                            -settings_.fedasync.staleness_exponent);
  } else if (settings_.policy.weighting == WeightingKind::kTrainingExamples) {
    expected = static_cast<double>(round.training_examples);
  } else {
    double asked = 0, answered = 0, examples = 0;
    for (const auto& [learner, evaluator] : round.asked) {
      double rows = 0;
      for (uint64_t row : evaluator.rows) rows += static_cast<double>(row);
      asked += rows;
      if (evaluator.answered) answered += rows;
    }
    for (const auto& row : round.pooled) {
      for (double cell : row) examples += cell;
    }
    if (asked > 0) coverage = answered / asked;
    bool enough = coverage >= settings_.validation.min_coverage && examples > 0;
    expected = enough ? Metric(round) : round.weighed.value_or(previous);
    kept_previous = !enough;
  }
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
