// What the community model and the contributions should be. The books are kept here, from the
// events alone; what follows from them, the oracles of the chosen parts work out (metis/policy).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/federation/oracle.h"
#include "metis/federation/part.h"
#include "metis/federation/settings.h"

namespace metis::sim {

// Whether these counts are of a set with so many examples of each class.
bool RowsAre(const ConfusionCounts& counts, const std::vector<uint64_t>& rows);

// The community model, by the oracles of the chosen aggregator and optimizer.
class CommunityOracle {
 public:
  CommunityOracle(const federation::Settings& settings, const Model& initial);

  // A commit with the models of its updates, in the same order. What is wrong with it, if anything.
  std::optional<std::string> Committed(const federation::CommunityCommitted& commit,
                                       const std::vector<ModelPtr>& models);
  // p_k of the learner's model that is in the community; 0 if none is.
  double contribution(LearnerId learner) const { return aggregator_->contribution(learner); }
  // The weight of an update that is so many versions old, if the aggregator weighs by itself.
  std::optional<double> OwnWeight(uint64_t version_staleness) const {
    return aggregator_->OwnWeight(version_staleness);
  }

 private:
  const federation::Settings& settings_;
  std::unique_ptr<federation::AggregatorOracle> aggregator_;
  std::unique_ptr<federation::OptimizerOracle> optimizer_;
  std::vector<double> expected_;
};

// Contributions, from the counts that were asked for and came, by the chosen weighting's oracle.
class EvaluationOracle {
 public:
  // Both are borrowed.
  EvaluationOracle(const federation::Settings& settings, const CommunityOracle& community);

  void Joined(const federation::LearnerJoined&
                  event);          // a new life: it answers nothing it was asked before
  void Gone(LearnerId evaluator);  // leaves evaluations that are complete as they are
  void Accepted(const federation::UpdateReceived& update, Instant now);
  // What is wrong with these requests for the update that was taken up just now, if anything: they
  // go, once each, to those of the other live learners with validation data that the policy asks
  // (paper, section IV), and to nobody else. Who comes later is not asked.
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
    federation::WeighingFacts facts;
    std::map<LearnerId, Evaluator> asked;
    Instant accepted;
    std::optional<double> weighed;  // set once it was: the learner's p until then
  };

  static void Pool(Round& round, const ConfusionCounts& counts);
  static bool Complete(const Round& round);  // nobody is waited for
  static double Coverage(const Round& round);

  const federation::Settings& settings_;
  const CommunityOracle& community_;
  const std::optional<federation::EvaluationTerms> terms_;  // empty: nobody evaluates
  std::map<LearnerId, federation::LearnerJoined> declared_;
  std::map<federation::UpdateId, Round> rounds_;
};

}  // namespace metis::sim
