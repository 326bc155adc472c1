// How a participant reaches its controller: the channel, and what a failed call means.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>

#include "metis/rpc/credentials.h"

namespace metis::rpc {

// "host:port", with brackets where they are needed.
std::string AddressOf(const HostPort& controller);

// A fresh connection: shares nothing with earlier ones, so that dialling again dials. Under TLS the
// controller's certificate must be for the host that is dialled.
std::shared_ptr<grpc::Channel> MakeChannel(const HostPort& controller,
                                           const std::optional<Credentials>& credentials);

// The socket of this path, as gRPC wants it: a URI.
std::string AddressOfSocket(const std::string& path);

// A connection to the socket of a controller on this machine.
std::shared_ptr<grpc::Channel> MakeLocalChannel(const std::string& socket);

// Why dialling this controller again is of no use; empty where it may be away.
std::string WhyHopeless(const grpc::Status& status);

}  // namespace metis::rpc
