#include "metis/sim/round_oracle.h"

#include <algorithm>

#include "metis/core/text.h"

namespace metis::sim {

using federation::LateUpdates;
using federation::RejectReason;
using federation::TimerId;

void RoundOracle::Refused(const federation::RejectUpdate& rejection) {
  bool content = rejection.reason == RejectReason::kSchema ||
                 rejection.reason == RejectReason::kGate ||
                 rejection.reason == RejectReason::kForgedCounts;
  if (content && refused_before_.insert(rejection.id).second) {
    refused_.insert(rejection.id.learner);
  }
}

void RoundOracle::Runs(Instant now) {
  if (!began_) began_ = now;
}

void RoundOracle::Fired(const TimerId& timer, Instant now) {
  if (timer.kind != TimerId::Kind::kRound || timer.subject != round_) return;
  deadline_passed_ |= began_ && now - *began_ >= settings_.sync.round_deadline;
}

std::optional<std::string> RoundOracle::Accepted(const federation::UpdateReceived& update) const {
  if (settings_.sync.late_updates == LateUpdates::kKeep || update.base >= base_) {
    return std::nullopt;
  }
  return Text("round ", round_, " took up an update of learner ", update.id.learner,
              " trained on version ", update.base, ", but it began with version ", base_);
}

std::optional<std::string> RoundOracle::Closed(const federation::CommunityCommitted& commit,
                                               const std::vector<LearnerId>& live, Instant now) {
  if (commit.withdrawn) return std::nullopt;
  std::optional<std::string> wrong;
  for (LearnerId learner : live) {
    bool reported = std::any_of(commit.updates.begin(), commit.updates.end(),
                                [&](const auto& update) { return update.id.learner == learner; });
    if (reported || deadline_passed_ || refused_.contains(learner)) continue;
    wrong = Text("round ", round_, " closed without the live learner ", learner);
  }
  ++round_;
  began_ = now;
  base_ = commit.version;
  deadline_passed_ = false;
  refused_.clear();
  return wrong;
}

}  // namespace metis::sim
