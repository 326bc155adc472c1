// An operator's side of the network: asks a controller how it stands, gives it a command, fetches
// its community model. Every call has a deadline and waits for its answer. An error says in words
// what to do; kUnavailable means that no controller answers there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "metis/core/result.h"
#include "metis/drivers/operator_command.h"
#include "metis/federation/event.h"
#include "metis/rpc/credentials.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace metis::rpc {

// A model as it was sent: raw little-endian float32, whole and with the fingerprint it came with.
struct FetchedModel {
  std::string facts_json;
  std::string schema_json;
  uint64_t fingerprint = 0;
  std::string data;
};

class OperatorClient {
 public:
  // Of a controller on this machine: the socket of its run directory.
  explicit OperatorClient(const std::string& socket);
  // Of any other; without credentials in the clear.
  OperatorClient(const HostPort& controller, const std::optional<Credentials>& credentials);

  Result<std::string> Status();  // JSON, metis/operations/status.h
  Result<drivers::Commanded> Command(federation::OperatorCommand::Kind kind,
                                     const std::string& name);
  Result<FetchedModel> Export(bool best);

 private:
  Error ErrorOf(const grpc::Status& status) const;

  const std::string address_;  // for messages
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace metis::rpc
