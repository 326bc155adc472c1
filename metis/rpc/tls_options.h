// By which certificates a process serves or dials, as its user chose: files, or none on this
// machine alone. A value; reading it reads the files.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace metis::rpc {

struct TlsOptions {
  TlsFiles files;
  bool insecure = false;

  bool any_file() const {
    return !files.ca.empty() || !files.certificate.empty() || !files.key.empty();
  }
};

// The credentials; none where `insecure` is set, which is refused unless `host` is this machine.
// Errors name the options of the command line (--ca, --certificate, --key, --insecure), the same
// for every program on the network. What is wrong but not fatal (a key that others can read) goes
// to `warn`.
Result<std::optional<Credentials>> LoadTls(const TlsOptions& options, bool for_server,
                                           const std::string& host,
                                           const std::function<void(const std::string&)>& warn);

}  // namespace metis::rpc
