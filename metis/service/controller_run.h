// One federation over the network, from what it begins with to a finished run directory: what
// `metis controller` does. Without libtorch: a controller mixes models and knows nothing of
// networks. Blocks until the end; one process has a run directory at a time; the threads end with
// the call.
#pragma once

#include <stop_token>

#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/report/json_archive.h"
#include "metis/service/controller_setup.h"

namespace metis::service {

struct ControllerOutcome {
  // The federation goes on once the process is started again: no participant could connect any
  // more, or a model could not be read from the disk. Why has been said.
  bool start_again = false;
  // What the run came to. Null where a model could not be read: what was in memory then is not what
  // the log says.
  report::Json summary;
};

// Begins the federation of `setup` (read with the same options), or goes on with it, until it has
// finished, an operator ends it, or `stop` is requested. Blocks until then.
Result<ControllerOutcome> RunController(const ControllerOptions& options,
                                        const ControllerSetup& setup, Narrator& narrator,
                                        const std::stop_token& stop);

}  // namespace metis::service
