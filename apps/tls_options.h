// --ca, --certificate, --key and --insecure, the same for all programs on the network.
#pragma once

#include "metis/rpc/tls_options.h"

namespace CLI {
class App;
}

namespace metis::apps {

void AddTlsOptions(CLI::App& app, rpc::TlsOptions& options);

}  // namespace metis::apps
