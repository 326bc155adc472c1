// What gRPC itself takes for the same bytes: streams of 1 MiB messages that nobody looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "metis/rpc/credentials.h"

namespace metis::bench {

// Seconds in which every learner, over a connection of its own, sends a model and then receives
// one; the fastest of several. Without credentials: not encrypted.
double MeasureBareGrpc(uint32_t learners, size_t model_bytes,
                       const std::optional<rpc::Credentials>& server,
                       const std::optional<rpc::Credentials>& client);

}  // namespace metis::bench
