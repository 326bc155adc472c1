// What the community model and the contributions should be, worked out again in the plainest way:
// doubles over the latest models, metrics straight from their definitions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/federation/settings.h"

namespace metis::sim {

// Whether these counts are of a set with so many examples of each class.
bool RowsAre(const ConfusionCounts& counts, const std::vector<uint64_t>& rows);

// The weighted mean of the latest models, or FedAsync's mix.
class CommunityOracle {
 public:
  CommunityOracle(const federation::Settings& settings, const Model& initial);

  // A commit with the models of its updates, in the same order. What is wrong with it, if anything.
  std::optional<std::string> Committed(const federation::CommunityCommitted& commit,
                                       const std::vector<ModelPtr>& models);
  // p_k of the learner's model that is in the community; 0 if none is.
  double contribution(LearnerId learner) const;

 private:
  struct Term {
    double contribution = 0;
    ModelPtr model;
  };

  void Mix(const federation::CommittedUpdate& update, const Model& model);
  void Average();

  const federation::Settings& settings_;
  std::vector<double> expected_;
  std::map<LearnerId, Term> terms_;
};

// DVW's contribution from the counts that were asked for and came.
class EvaluationOracle {
 public:
  explicit EvaluationOracle(const federation::Settings& settings) : settings_(settings) {}

  void Joined(const federation::LearnerJoined&
                  event);          // a new life: it answers nothing it was asked before
  void Gone(LearnerId evaluator);  // leaves evaluations that are complete as they are
  void Accepted(const federation::UpdateReceived& update, Instant now);
  // What is wrong with these requests for the update that was taken up just now, if anything: they
  // go, once, to every other live learner that has validation data (paper, section IV), and to
  // nobody else. Who comes later is not asked.
  std::optional<std::string> TakenUp(const federation::UpdateReceived& update,
                                     const std::vector<federation::RequestEvaluation>& requests,
                                     const std::vector<LearnerId>& live) const;
  void Asked(const federation::RequestEvaluation& request);
  void Counted(const federation::CountsReceived& event);
  void Failed(const federation::EvaluationFailed& event);
  // The deadline is said to have passed for this evaluator. What is wrong with that, if anything.
  std::optional<std::string> TooLate(const federation::CancelEvaluation& cancel, Instant now);
  // The update was weighed and waits for its round: what comes now comes too late. `previous` is
  // its learner's p until then.
  void Weighed(const federation::UpdateId& id, double previous);

  // What is wrong with this contribution, if anything; `previous` is the learner's p so far.
  std::optional<std::string> Committed(const federation::CommittedUpdate& update, double previous);
  void Forget(const federation::UpdateId& id) { rounds_.erase(id); }

 private:
  struct Evaluator {
    std::vector<uint64_t> rows;
    bool answered = false;
    bool refused = false;  // or too late, or unable to answer
  };
  struct Round {
    std::vector<std::vector<double>> pooled;
    std::map<LearnerId, Evaluator> asked;
    uint64_t training_examples = 0;
    Instant accepted;
    std::optional<double> weighed;  // set once it was: the learner's p until then
  };

  static void Pool(Round& round, const ConfusionCounts& counts);
  static bool Complete(const Round& round);  // nobody is waited for
  double Metric(const Round& round) const;

  const federation::Settings& settings_;
  std::map<LearnerId, federation::LearnerJoined> declared_;
  std::map<federation::UpdateId, Round> rounds_;
};

}  // namespace metis::sim
