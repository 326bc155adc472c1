#include "metis/federation/staleness.h"

#include "metis/core/check.h"

namespace metis::federation {

void StalenessLedger::Sent(LearnerId learner, Version version) {
  // The first sending counts: that copy may be the one the learner trains on.
  sent_[learner].emplace(version, committed_steps_);
}

bool StalenessLedger::WasSent(LearnerId learner, Version version) const {
  auto versions = sent_.find(learner);
  return versions != sent_.end() && versions->second.contains(version);
}

std::optional<StalenessLedger::Sending> StalenessLedger::Newest(LearnerId learner) const {
  auto versions = sent_.find(learner);
  if (versions == sent_.end() || versions->second.empty()) return std::nullopt;
  const auto& [version, steps] = *versions->second.rbegin();
  return Sending{version, steps};
}

uint64_t StalenessLedger::StepsAt(LearnerId learner, Version base) {
  METIS_CHECK(WasSent(learner, base));
  std::map<Version, uint64_t>& versions = sent_[learner];
  auto found = versions.find(base);
  versions.erase(versions.begin(), found);
  return found->second;
}

}  // namespace metis::federation
