#include "metis/sim/stop_oracle.h"

#include <algorithm>

#include "metis/core/enum_name.h"
#include "metis/core/text.h"
#include "metis/sim/community_oracle.h"

namespace metis::sim {

using federation::StopReason;

void StopOracle::Joined(const federation::LearnerJoined& event) {
  test_sets_[event.learner] = event.validation_counts.class_counts();
}

void StopOracle::Runs(Instant now) {
  if (!began_) began_ = now;
}

void StopOracle::Tested(const federation::CommunityTested& event) {
  if (under_way_.erase(event.version) == 0) return;
  const ConfusionCounts& counts = event.counts.AsConfusion();
  if (!RowsAre(counts, test_sets_[event.observer])) return;
  double right = 0, all = 0;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    right += static_cast<double>(counts.at(i, i));
    for (uint32_t j = 0; j < counts.classes(); ++j) {
      all += static_cast<double>(counts.at(i, j));
    }
  }
  accuracies_.push_back(all > 0 ? right / all : 0);
}

void StopOracle::Committed(const federation::CommunityCommitted& commit) {
  requests_ += commit.updates.size();
  if (settings_.policy.protocol->rounds && !commit.withdrawn) ++rounds_;
}

bool StopOracle::RoundsDone() const {
  return settings_.stop.rounds && rounds_ >= *settings_.stop.rounds;
}

bool StopOracle::RequestsDone() const {
  return settings_.stop.requests && requests_ >= *settings_.stop.requests;
}

bool StopOracle::TargetReached() const {
  return settings_.stop.target_accuracy && !accuracies_.empty() &&
         *std::max_element(accuracies_.begin(), accuracies_.end()) >=
             *settings_.stop.target_accuracy;
}

bool StopOracle::PatienceLost() const {
  if (!settings_.stop.patience || accuracies_.empty()) return false;
  // The first of equals is the best: whoever only reaches it again is no better.
  auto best = std::max_element(accuracies_.begin(), accuracies_.end());
  return accuracies_.end() - best - 1 >= static_cast<int64_t>(*settings_.stop.patience);
}

std::optional<Instant> StopOracle::due() const {
  if (!began_ || !settings_.stop.duration) return std::nullopt;
  return *began_ + *settings_.stop.duration;
}

std::string StopOracle::Describe() const {
  return Text(rounds_, " rounds, ", requests_, " requests and ", accuracies_.size(), " tests");
}

std::optional<std::string> StopOracle::Ended(StopReason reason, Instant now) {
  ended_ = true;
  bool met = false;
  switch (reason) {
    case StopReason::kRounds:
      met = RoundsDone();
      break;
    case StopReason::kRequests:
      met = RequestsDone();
      break;
    case StopReason::kTargetAccuracy:
      met = TargetReached();
      break;
    case StopReason::kPatience:
      met = PatienceLost();
      break;
    case StopReason::kDuration:
      met = due() && now >= *due();
      break;
    case StopReason::kOperator:
      met = ordered_;
      break;
  }
  if (met) return std::nullopt;
  return Text("it finished by ", NameOf(reason), " after ", Describe());
}

std::optional<std::string> StopOracle::GoesOn() const {
  if (ended_ || (!RoundsDone() && !RequestsDone() && !TargetReached() && !PatienceLost())) {
    return std::nullopt;
  }
  return Text("it goes on after ", Describe());
}

}  // namespace metis::sim
