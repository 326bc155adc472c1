// Enrolment, the controller's side: the one service that may be called without a certificate. It
// answers with a certificate for an invitation; everything it grants or refuses is audited. Few are
// heard at a time, because anybody can call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "metis/machine/worker_pool.h"
#include "metis/rpc/server_core.h"
#include "proto/metis/v1/operations.grpc.pb.h"

namespace metis::rpc {

class EnrolmentService final : public v1::Enrolment::CallbackService {
 public:
  // The core has an authority.
  explicit EnrolmentService(CorePtr core) : core_(std::move(core)) {}

  // After the server's own end: nobody calls any more.
  void Stop() { worker_.Stop(); }

 private:
  grpc::ServerUnaryReactor* Enrol(grpc::CallbackServerContext* context,
                                  const v1::EnrolRequest* request, v1::EnrolReply* reply) override;
  grpc::Status Answer(const std::string& peer, const v1::EnrolRequest& request,
                      v1::EnrolReply& reply);

  const CorePtr core_;
  std::atomic<uint32_t> under_way_ = 0;
  machine::WorkerPool worker_{1};  // its own: whoever calls must not hold up those who send models
};

}  // namespace metis::rpc
