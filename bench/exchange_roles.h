// A federation that exchanges models and does nothing else, as two processes: a controller, and all
// learners, which train nothing. Synchronous rounds over loopback.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metis/rpc/credentials.h"

namespace metis::bench {

struct ExchangeOptions {
  uint32_t learners = 10;
  uint64_t parameters = 10'000'000;
  uint64_t rounds = 6;
  bool durable = false;
  bool spill = false;  // learners' latest models on disk only
  bool tls = false;
  std::string directory;  // of certificates (as scripts/make_certificates.sh makes them) and state
};

// Of "controller" and "site-0", "site-1", ...; none without TLS.
std::optional<rpc::Credentials> LoadTls(const ExchangeOptions& options, const std::string& name,
                                        bool server);

// Writes its port to standard output, and at the end one line of JSON: median_seconds,
// fastest_seconds, peak_bytes, cpu_seconds. Returns the exit code.
int RunController(const ExchangeOptions& options);

// Until the federation is over. Writes one line of JSON: cpu_seconds.
int RunLearners(const ExchangeOptions& options, uint16_t port);

}  // namespace metis::bench
