// Work as values: an epoch, a local model, an evaluation or a test is described completely by what
// is in here, together with the data of the site that it is for. So any worker that has the data
// gives the same result: a thread of this process, another process, another machine; and a result
// can be kept and found again by its key (journal.h).
//
// A learner's state is named by the history that determines it: two states with the same id have
// the same bytes. It has the bytes at hand (`value`), or knows how to get them (`history`), which
// is the case where a journal knew what an epoch came to and nothing was computed.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>

#include "metis/core/model.h"
#include "metis/core/time.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/training_state.h"

namespace metis::work {

enum class Kind : uint8_t {
  kEpoch,       // train one epoch of a cycle that began with `model`
  kModel,       // the local model after the epoch that left `state`
  kEvaluation,  // of `model` on the validation set of site `who`
  kTest,        // of `model` on part `who` of the test set
  kState,       // the bytes of a state: kept by a journal, never asked for as work
};

// What determines a result.
struct WorkKey {
  Kind kind = Kind::kEpoch;
  uint32_t who = 0;
  uint64_t model = 0;  // its fingerprint
  uint64_t state = 0;  // its id
  uint64_t cycle = 0;
  uint64_t epoch = 0;

  friend auto operator<=>(const WorkKey&, const WorkKey&) = default;
};

struct Work;

struct LearnerState {
  uint64_t id = 0;                      // 0: a life begins, there is none
  learner::TrainingStatePtr value;      // null: only its history is known
  std::shared_ptr<const Work> history;  // the epoch that left it; null where the value is known
};

struct Work {
  Kind kind = Kind::kEpoch;
  uint32_t who = 0;       // a site, or a part of the test set
  ModelPtr model;         // that a cycle began with, or that is evaluated
  LearnerState state;     // that it builds on
  uint64_t cycle = 0;     // of an epoch or a local model: models received so far
  uint64_t epoch = 0;     // within the cycle, from 1
  bool evaluate = false;  // also evaluate the local model on the site's own validation set
  Instant due;            // when the result is wanted: what is due first is done first

  WorkKey key() const;
};

struct WorkResult {
  uint64_t steps = 0;                             // of an epoch: mini-batches
  uint64_t examples = 0;                          // trained to get it; 0 where it was known already
  double training_loss = 0;                       // of an epoch; NaN where it was known already
  std::optional<learner::Evaluation> evaluation;  // as asked for
  ModelPtr model;                                 // the local one
  LearnerState state;                             // that an epoch left
};

// The id of the state that this epoch leaves.
uint64_t StateAfter(const Work& epoch);

}  // namespace metis::work
