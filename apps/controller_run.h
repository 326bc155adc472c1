// One federation over the network, from its configuration to a finished run directory: what `metis
// controller` does. Without libtorch: a controller mixes models and knows nothing of networks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/interrupts.h"
#include "apps/tls_options.h"
#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/report/run_directory.h"

namespace metis::apps {

// For a supervisor: no participant can connect any more, or a model could not be read from the
// disk. Started again it goes on.
inline constexpr int kStartAgain = 75;

struct ControllerOptions {
  std::string file;  // configuration; empty: the run's own, or the defaults
  std::vector<config::Assignment> overrides;
  std::string model;  // the initial one; empty: the run's own, or that of the built-in data
  std::string run;    // directory
  std::optional<report::Record> record;  // none: the run's own, or light
  bool accept_loss = false;
  TlsOptions tls;
  std::string authority;  // directory of `metis ca init`; empty: certificates of the operator's own
};

// Begins the federation, or goes on with the one that the directory holds, until it has finished or
// an operator ends it. The code to exit with.
Result<int> RunController(const ControllerOptions& options, const Interrupts& interrupts);

}  // namespace metis::apps
