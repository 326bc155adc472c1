// The network of a federation, as the controller's operator sets it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/core/time.h"
#include "metis/wire/settings.h"

namespace metis::rpc {

struct NetworkSettings {
  std::string listen = "127.0.0.1:7740";  // HOST:PORT; port 0 is a free one
  wire::Encoding transfer = wire::Encoding::kRaw;
  // A transfer without a byte of progress for this long is dropped; it can go on later.
  Duration stalled = Duration::Seconds(30);
  // Models that are being received may take this much memory together; who comes then waits its
  // turn. At least one always fits.
  uint64_t receive_budget_mb = 4096;
  uint32_t max_connections = 2000;  // participants connected at a time

  // Names of certificates that may operate the federation, beside those of the role "admin": for
  // those whose certificates come from an authority of their own.
  std::vector<std::string> admins;

  friend bool operator==(const NetworkSettings&, const NetworkSettings&) = default;
};

}  // namespace metis::rpc
