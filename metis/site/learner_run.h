// One learner of a federation over the network, from joining to the federation's end: what `metis
// learner` does. Its threads end with the call; one process has a participant's state directory at
// a time. Holds the site's data in memory.
#pragma once

#include <stop_token>
#include <string>

#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/site/participant.h"
#include "metis/site/site.h"

namespace metis::site {

struct LearnerOptions {
  ParticipantOptions participant;
  SiteOptions site;
  std::string group;    // of machines, of which this one is; empty: the federation's first
  double slowdown = 0;  // waits this many times as long as it trained after every epoch
};

// Joins and works until it is dismissed, or can't go on, or `stop` is requested: then it leaves.
// Blocks until then. The words say how it ended.
Result<std::string> RunLearner(const LearnerOptions& options, Narrator& narrator,
                               const std::stop_token& stop);

}  // namespace metis::site
