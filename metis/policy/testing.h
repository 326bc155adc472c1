// What the tests of parts share: a candidate of made-up values, cycles of given losses. For tests
// only.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "metis/federation/testing.h"
#include "metis/federation/validation_cycle.h"
#include "metis/policy/policy.h"

namespace metis::policy {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The epoch at which the cycle asks, given VLoss_0 and then one loss an epoch; 0: it does not.
inline size_t AsksAt(federation::ValidationCycle& cycle, const std::vector<double>& losses) {
  cycle.Begin(losses[0]);
  for (size_t epoch = 1; epoch < losses.size(); ++epoch) {
    if (cycle.EpochEnded(losses[epoch], 0)) return epoch;
  }
  return 0;
}

// A candidate of learner 7, with unequal values everywhere, and what it refers to.
class MadeUpCandidate {
 public:
  explicit MadeUpCandidate(federation::Evaluation evaluation = {})
      : evaluation_(std::move(evaluation)) {
    for (uint32_t k : {2u, 5u, 1u}) {
      federation::LearnerJoined event;
      event.learner = LearnerId(k);
      event.training_examples = federation::TrainingExamples(k);
      event.validation_counts = federation::ValidationCounts(k);
      EXPECT_TRUE(membership_.Join(event).ok());
    }
    EXPECT_TRUE(aggregator_->Replace(LearnerId(5), 3, models_.From(1), 100).ok());
    EXPECT_TRUE(aggregator_->Replace(LearnerId(7), 2, models_.From(2), 100).ok());
  }

  federation::Candidate Of(uint64_t training_examples) const {
    return {.learner = LearnerId(7),
            .training_examples = training_examples,
            .steps = 40,
            .staleness = 90,
            .version_staleness = 3,
            .cycle = cycle_,
            .evaluation = evaluation_,
            .previous = aggregator_->contribution(LearnerId(7)),
            .peers = peers_};
  }
  const federation::Membership& membership() const { return membership_; }

 private:
  federation::Settings settings_ = federation::SettingsFor("async-dvw", 4);
  federation::Models models_;
  federation::MemoryModelStore store_;
  federation::Membership membership_{10, 0};
  std::unique_ptr<federation::Aggregator> aggregator_ =
      SumsAggregator().make({settings_, models_.From(0), models_.pool(), store_});
  federation::CycleRecord cycle_;
  federation::Evaluation evaluation_;
  federation::Peers peers_{membership_, *aggregator_, LearnerId(7)};
};

}  // namespace metis::policy
