// The controller tells its time, and whoever wants to join compares (proto/metis/v1/clock.proto).
// Thread-safe.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <optional>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/rpc/credentials.h"
#include "metis/rpc/proof.h"

namespace metis::rpc {

// Why a caller is turned away; none: it may ask. Null: everybody may.
using Doorkeeper = std::function<std::optional<Denial>(const grpc::CallbackServerContext&)>;
std::unique_ptr<grpc::Service> MakeClockService(Doorkeeper doorkeeper = nullptr);

// How many seconds the controller's clock is before this machine's, as it was half-way between
// question and answer. kInvalid: it turns this certificate away, in its words; kNotFound: it
// answers, but does not tell; kUnavailable: no answer within `patience`.
Result<double> AskClock(const HostPort& controller, const std::optional<Credentials>& credentials,
                        Duration patience);

}  // namespace metis::rpc
