#include "metis/rpc/operator_client.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <utility>

#include "metis/core/text.h"
#include "metis/rpc/client_channel.h"
#include "proto/metis/v1/operations.grpc.pb.h"

namespace metis::rpc {
namespace {

using federation::OperatorCommand;

// A status is there at once; a command waits for the disk, and for those before it.
constexpr std::chrono::seconds kStatusDeadline{10};
constexpr std::chrono::seconds kCommandDeadline{60};
constexpr std::chrono::minutes kExportDeadline{30};

void EndAfter(grpc::ClientContext& context, std::chrono::seconds deadline) {
  context.set_deadline(std::chrono::system_clock::now() + deadline);
}

v1::CommandRequest::Kind Encode(OperatorCommand::Kind kind) {
  switch (kind) {
    case OperatorCommand::Kind::kPause:
      return v1::CommandRequest::PAUSE;
    case OperatorCommand::Kind::kResume:
      return v1::CommandRequest::RESUME;
    case OperatorCommand::Kind::kStop:
      return v1::CommandRequest::STOP;
    case OperatorCommand::Kind::kWithdraw:
      return v1::CommandRequest::WITHDRAW;
  }
  return v1::CommandRequest::KIND_UNKNOWN;
}

}  // namespace

OperatorClient::OperatorClient(const std::string& socket)
    : address_(socket), channel_(MakeLocalChannel(socket)) {}

OperatorClient::OperatorClient(const HostPort& controller,
                               const std::optional<Credentials>& credentials)
    : address_(AddressOf(controller)), channel_(MakeChannel(controller, credentials)) {}

Error OperatorClient::ErrorOf(const grpc::Status& status) const {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      if (const std::string why = WhyHopeless(status); !why.empty()) {
        return Invalid(Text(address_, ": ", why));
      }
      return Unavailable(Text("no controller answers at ", address_, " (", status.error_message(),
                              "): is it running?"));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Unavailable(
          Text("the controller at ", address_,
               " did not answer in time: is it stopped, or its disk stuck? A command may "
               "still take effect: `metis status` tells"));
    case grpc::StatusCode::CANCELLED:
      return Unavailable(Text("the controller at ", address_, " is just ending"));
    case grpc::StatusCode::UNIMPLEMENTED:
      return Invalid(Text("the controller at ", address_, " cannot be operated: is it of an ",
                          "older version? (", status.error_message(), ")"));
    case grpc::StatusCode::NOT_FOUND:
      return NotFound(status.error_message());
    default:
      return Invalid(status.error_message());
  }
}

Result<std::string> OperatorClient::Status() {
  grpc::ClientContext context;
  EndAfter(context, kStatusDeadline);
  v1::StatusReply reply;
  const grpc::Status status = v1::Operations::NewStub(channel_)->Status(&context, {}, &reply);
  if (!status.ok()) return ErrorOf(status);
  return std::move(*reply.mutable_json());
}

Result<drivers::Commanded> OperatorClient::Command(OperatorCommand::Kind kind,
                                                   const std::string& name) {
  grpc::ClientContext context;
  EndAfter(context, kCommandDeadline);
  v1::CommandRequest request;
  request.set_kind(Encode(kind));
  request.set_name(name);
  v1::CommandReply reply;
  const grpc::Status status = v1::Operations::NewStub(channel_)->Command(&context, request, &reply);
  if (!status.ok()) return ErrorOf(status);
  return drivers::Commanded{reply.message(), Version(reply.version())};
}

Result<FetchedModel> OperatorClient::Export(bool best) {
  grpc::ClientContext context;
  EndAfter(context, kExportDeadline);
  v1::ExportRequest request;
  request.set_best(best);
  const std::unique_ptr<v1::Operations::Stub> stub = v1::Operations::NewStub(channel_);
  const std::unique_ptr<grpc::ClientReader<v1::ExportPart>> parts = stub->Export(&context, request);
  FetchedModel fetched;
  v1::ExportPart part;
  for (bool first = true; parts->Read(&part); first = false) {
    if (first) {
      fetched.facts_json = part.facts_json();
      fetched.schema_json = part.schema_json();
      fetched.fingerprint = part.fingerprint();
    }
    fetched.data += part.data();
  }
  const grpc::Status status = parts->Finish();
  if (!status.ok()) return ErrorOf(status);
  return fetched;
}

}  // namespace metis::rpc
