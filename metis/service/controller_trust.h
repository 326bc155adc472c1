// Whom a controller believes, and by what it is believed: certificates of its operator's own, the
// authority of `metis ca`, or nothing, on this machine alone. Reads files, once a start.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "metis/authority/authority.h"
#include "metis/core/result.h"
#include "metis/rpc/credentials.h"
#include "metis/rpc/tls_options.h"

namespace metis::service {

struct ControllerTrust {
  std::optional<rpc::Credentials> credentials;      // none: plain text
  std::unique_ptr<authority::Authority> authority;  // null: nobody can enrol
};

// `authority` is its directory, or empty; `host` is where the controller will listen. What is wrong
// but not fatal goes to `warn`.
Result<ControllerTrust> OpenTrust(const rpc::TlsOptions& options, const std::string& authority,
                                  const std::string& host,
                                  const std::function<void(const std::string&)>& warn);

}  // namespace metis::service
