// The observer of a federation over the network, from joining to the federation's end: what `metis
// observer` does. Its threads end with the call; one process has a participant's state directory
// at a time. Holds the test data in memory.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/data/load_data.h"
#include "metis/federation/event.h"
#include "metis/site/participant.h"

namespace metis::site {

struct ObserverOptions {
  ParticipantOptions participant;
  data::DataSource data;
  bool whole = false;  // tests on all of a file, not only on what the federation holds out
};

// Joins and tests until it is dismissed, or can't go on, or `stop` is requested: then it leaves.
// Blocks until then. `on_test` hears of every test before the controller does, on the thread that
// tested. The words say how it ended.
Result<std::string> RunObserver(
    const ObserverOptions& options,
    const std::function<void(const federation::CommunityTested&)>& on_test, Narrator& narrator,
    const std::stop_token& stop);

}  // namespace metis::site
