// When a synchronous round may close, and what it may take up, worked out again from the events:
// it closes once every live learner has reported, or at its deadline; a learner
// whose update was refused for its content is not waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/federation/settings.h"

namespace metis::sim {

class RoundOracle {
 public:
  explicit RoundOracle(const federation::Settings& settings) : settings_(settings) {}

  // A refusal that is said again, in a later round perhaps, excuses nobody.
  void Refused(const federation::RejectUpdate& rejection);
  void NewLife(LearnerId learner) { refused_.erase(learner); }
  // The deadline counts from the beginning of the federation, or from the end of the round before.
  void Runs(Instant now);  // for the first time: the beginning
  void Fired(const federation::TimerId& timer, Instant now);

  // What is wrong with taking up this update, if anything.
  std::optional<std::string> Accepted(const federation::UpdateReceived& update) const;
  // What is wrong with closing the round now, if anything. Ignores withdrawals, which close
  // nothing.
  std::optional<std::string> Closed(const federation::CommunityCommitted& commit,
                                    const std::vector<LearnerId>& live, Instant now);

 private:
  const federation::Settings& settings_;
  uint64_t round_ = 1;
  std::optional<Instant> began_;  // this round, at the earliest
  Version base_;                  // the version that the round began with
  bool deadline_passed_ = false;
  std::set<LearnerId> refused_;                    // in this round
  std::set<federation::UpdateId> refused_before_;  // for their content, ever
};

}  // namespace metis::sim
