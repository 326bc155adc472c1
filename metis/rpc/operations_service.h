// The controller's side of what an operator asks (proto/metis/v1/operations.proto): how it stands,
// a command, the community model. Only for those who may (ServerCore::Proof::MayOperate); everybody
// else is refused and audited. A status never waits for the controller's loop. Thread-safe.
#pragma once

#include <string>

#include "metis/rpc/server_core.h"
#include "proto/metis/v1/operations.grpc.pb.h"

namespace metis::rpc {

class OperationsService final : public v1::Operations::CallbackService {
 public:
  explicit OperationsService(CorePtr core) : core_(std::move(core)) {}

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest* request,
                                   v1::StatusReply* reply) override;
  grpc::ServerUnaryReactor* Command(grpc::CallbackServerContext* context,
                                    const v1::CommandRequest* request,
                                    v1::CommandReply* reply) override;
  grpc::ServerWriteReactor<v1::ExportPart>* Export(grpc::CallbackServerContext* context,
                                                   const v1::ExportRequest* request) override;

 private:
  // OK if the peer may; otherwise it was audited.
  grpc::Status Admit(const grpc::CallbackServerContext& context, const char* what) const;

  const CorePtr core_;
};

}  // namespace metis::rpc
