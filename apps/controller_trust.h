// Whom a controller believes, and by what it is believed: certificates of its operator's own, the
// authority of `metis ca`, or nothing, on this machine alone.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/tls_options.h"
#include "metis/authority/authority.h"
#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace metis::apps {

struct ControllerTrust {
  std::optional<rpc::Credentials> credentials;      // none: plain text
  std::unique_ptr<authority::Authority> authority;  // null: nobody can enrol
};

// `authority` is its directory, or empty; `host` is where the controller will listen.
Result<ControllerTrust> OpenTrust(const TlsOptions& options, const std::string& authority,
                                  const std::string& host);

}  // namespace metis::apps
