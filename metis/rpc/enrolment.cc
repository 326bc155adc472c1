#include "metis/rpc/enrolment.h"

#include <string>

#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {

constexpr uint32_t kMostAtATime = 16;
constexpr size_t kMaxRequestBytes = 32 << 10;

grpc::StatusCode CodeFor(const std::string& reason) {
  if (reason == "malformed") return grpc::StatusCode::INVALID_ARGUMENT;
  if (reason == "failed") return grpc::StatusCode::UNAVAILABLE;
  return grpc::StatusCode::PERMISSION_DENIED;
}

}  // namespace

grpc::ServerUnaryReactor* EnrolmentService::Enrol(grpc::CallbackServerContext* context,
                                                  const v1::EnrolRequest* request,
                                                  v1::EnrolReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::string peer = context->peer();
  if (request->ByteSizeLong() > kMaxRequestBytes) {
    const std::string words = Text("a request of ", request->ByteSizeLong(), " bytes: at most ",
                                   kMaxRequestBytes, " are taken here");
    core_->Refuse(peer, "", "oversize", words);
    reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, words});
    return reactor;
  }
  if (under_way_.fetch_add(1) >= kMostAtATime) {
    --under_way_;
    const std::string words =
        Text("more than ", kMostAtATime, " ask for certificates at a time: try again later");
    core_->Refuse(peer, wire::Printable(request->name(), wire::kMaxNameBytes), "flood", words);
    reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, words});
    return reactor;
  }
  worker_.Post([this, reactor, peer, request, reply] {  // it waits for the disk
    const grpc::Status status = Answer(peer, *request, *reply);
    --under_way_;
    reactor->Finish(status);
  });
  return reactor;
}

grpc::Status EnrolmentService::Answer(const std::string& peer, const v1::EnrolRequest& request,
                                      v1::EnrolReply& reply) {
  const std::string name = wire::Printable(request.name(), wire::kMaxNameBytes);
  CertificateAuthority& authority = *core_->options.authority;
  const CertificateAuthority::Verdict verdict =
      authority.Enrol(request.name(), request.secret(), request.request());
  if (!verdict.granted()) {
    core_->Refuse(peer, name, Text("enrol-", verdict.reason), verdict.message);
    if (verdict.reason == "failed") core_->Say(verdict.message);  // not the site's business
    return {CodeFor(verdict.reason), verdict.reason == "failed"
                                         ? "the authority can't keep its books just now"
                                         : verdict.message};
  }
  core_->Note(peer, name, "enrolled",
              Text("as ", verdict.role, ", certificate ", verdict.serial,
                   verdict.again ? ", which it had not received" : ""));
  core_->Say(Text("\"", name, "\" has enrolled as ", verdict.role));
  reply.set_certificate(verdict.certificate);
  reply.set_authority(authority.certificate());
  return grpc::Status::OK;
}

}  // namespace metis::rpc
