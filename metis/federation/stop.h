// When a federation ends, and how good it got: the stop criteria and the tests they look at.
// Owned by one Controller.
#pragma once

#include <cstdint>
#include <optional>

#include "metis/core/best_score.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/federation/action.h"
#include "metis/federation/settings.h"

namespace metis::federation {

class StopCriteria {
 public:
  explicit StopCriteria(const StopSettings& settings) : settings_(settings) {}

  // An observer's test of a version. Returns true for a new best accuracy.
  bool Tested(Version version, double accuracy, ModelPtr model);

  // The first criterion that is met. Time is a timer's business; `synchronous` decides whether
  // commits are rounds.
  std::optional<StopReason> Met(uint64_t commits, uint64_t requests, bool synchronous) const;

  uint64_t tests() const { return tests_; }
  double latest_accuracy() const { return latest_accuracy_; }
  double best_accuracy() const { return best_.score().value_or(0); }
  Version best_version() const { return best_version_; }
  const ModelPtr& best_model() const { return best_model_; }  // null before the first test

  template <typename A>
  friend void Fields(A& archive, StopCriteria& criteria) {
    archive("tests", criteria.tests_);
    archive("tests_since_best", criteria.tests_since_best_);
    archive("latest_accuracy", criteria.latest_accuracy_);
    double best_accuracy = criteria.best_accuracy();
    archive("best_accuracy", best_accuracy);
    criteria.best_ = criteria.tests_ > 0 ? BestScore(best_accuracy) : BestScore();
    archive("best_version", criteria.best_version_);
    archive("best_model", criteria.best_model_);
  }

 private:
  StopSettings settings_;
  uint64_t tests_ = 0;
  uint64_t tests_since_best_ = 0;
  double latest_accuracy_ = 0;
  BestScore best_;  // accuracy
  Version best_version_;
  ModelPtr best_model_;
};

}  // namespace metis::federation
