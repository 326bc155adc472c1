// --ca, --certificate, --key and --insecure, the same for all programs on the network.
#pragma once

#include <optional>
#include <string>

#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace CLI {
class App;
}

namespace metis::apps {

struct TlsOptions {
  rpc::TlsFiles files;
  bool insecure = false;
};

void AddTlsOptions(CLI::App& app, TlsOptions& options);

// The credentials; none for --insecure, which is refused unless `host` is this machine. What is
// wrong but not fatal (a key that others can read) is said on standard error.
Result<std::optional<rpc::Credentials>> LoadTls(const TlsOptions& options, bool for_server,
                                                const std::string& host);

}  // namespace metis::apps
