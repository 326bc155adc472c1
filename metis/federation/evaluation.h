// Gathering the distributed evaluation of one update (paper, section IV): the candidate goes to the
// evaluators of all other live learners, their statistics come back and are pooled. A silent
// or lying evaluator costs a deadline or its vote, never the federation. Owned by one Controller,
// one for each update under evaluation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/core/statistics.h"
#include "metis/federation/membership.h"

namespace metis::federation {

// What was gathered: the input of a weighting scheme.
struct Evaluation {
  Statistics pooled;    // of the evaluators that answered, and of the requester if that is set
  double coverage = 1;  // share of the asked evaluators' validation examples that are in `pooled`
};

class EvaluationRound {
 public:
  EvaluationRound() = default;
  // Nobody is asked yet. `own_counts` are the requester's.
  explicit EvaluationRound(Statistics own_counts) : own_counts_(std::move(own_counts)) {}

  void Ask(LearnerId evaluator, Incarnation incarnation, Declared declared);

  // Is this evaluator, in this life, still to answer?
  bool Awaits(LearnerId evaluator, Incarnation incarnation) const;

  // An answer; refused, and no longer waited for, if it contradicts what was declared.
  Result<void> Answer(LearnerId evaluator, const Statistics& counts);

  // It will not answer, though it was there: it counts against coverage.
  void Silent(LearnerId evaluator);
  // It is gone: only live evaluators count, unless it has answered already or nobody is waited for
  // any longer: then the weight is fixed.
  void Gone(LearnerId evaluator);

  // The deadline has passed: nobody is waited for any longer, and answers come too late.
  void Close() { closed_ = true; }
  bool complete() const;

  std::vector<LearnerId> awaited() const;
  Evaluation Gathered(bool count_own) const;

  template <typename A>
  friend void Fields(A& archive, EvaluationRound& round) {
    archive("own_counts", round.own_counts_);
    archive("asked", round.asked_);
    archive("pooled", round.pooled_);
    archive("closed", round.closed_);
  }

 private:
  enum class State { kAwaited, kAnswered, kSilent };
  struct Asked {
    Incarnation incarnation;
    Declared declared;
    State state = State::kAwaited;

    template <typename A>
    friend void Fields(A& archive, Asked& asked) {
      archive("incarnation", asked.incarnation);
      archive("declared_counts", asked.declared);
      archive("state", asked.state);
    }
  };

  Statistics own_counts_;
  std::map<LearnerId, Asked> asked_;
  Statistics pooled_;
  bool closed_ = false;
};

// Statistics that can be of the declared set, or an error that says why not.
Result<void> CheckStatistics(const Statistics& statistics, const Declared& declared);

}  // namespace metis::federation
