// The controller tells its time, and whoever wants to join compares (proto/metis/v1/clock.proto).
// Thread-safe.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <optional>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/rpc/credentials.h"

namespace metis::rpc {

std::unique_ptr<grpc::Service> MakeClockService();

// How many seconds the controller's clock is before this machine's, as it was half-way between
// question and answer. kNotFound: it answers, but does not tell; kUnavailable: no answer within
// `patience`.
Result<double> AskClock(const HostPort& controller, const std::optional<Credentials>& credentials,
                        Duration patience);

}  // namespace metis::rpc
