// Which controller an operator means, the same for all of `metis status`, `stop`, `pause`, ...: the
// one of a run directory on this machine, or another one by its address.
#pragma once

#include <memory>
#include <string>

#include "apps/tls_options.h"
#include "metis/core/result.h"
#include "metis/rpc/operator_client.h"

namespace CLI {
class App;
}

namespace metis::apps {

struct Target {
  std::string run;   // directory; empty: the only one whose controller is running
  std::string join;  // HOST:PORT
  rpc::TlsOptions tls;
};

void AddTarget(CLI::App& app, Target& target);

// A client of the controller that is meant. kUnavailable: it is a run directory (`target.run`,
// which is filled in), and its controller is not running.
Result<std::unique_ptr<rpc::OperatorClient>> Reach(Target& target);

}  // namespace metis::apps
