#include "metis/rpc/clock_service.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "metis/core/text.h"
#include "metis/rpc/client_channel.h"
#include "proto/metis/v1/clock.grpc.pb.h"

namespace metis::rpc {
namespace {

int64_t NowMs() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

class Service final : public v1::Clock::WithCallbackMethod_Now<v1::Clock::Service> {
 public:
  explicit Service(Doorkeeper doorkeeper) : doorkeeper_(std::move(doorkeeper)) {}

  grpc::ServerUnaryReactor* Now(grpc::CallbackServerContext* context, const v1::NowRequest*,
                                v1::NowReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const std::optional<Denial> denied = doorkeeper_ ? doorkeeper_(*context) : std::nullopt;
    reply->set_unix_ms(NowMs());
    reactor->Finish(denied ? grpc::Status(denied->code, denied->message) : grpc::Status::OK);
    return reactor;
  }

 private:
  const Doorkeeper doorkeeper_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeClockService(Doorkeeper doorkeeper) {
  return std::make_unique<Service>(std::move(doorkeeper));
}

Result<double> AskClock(const HostPort& controller, const std::optional<Credentials>& credentials,
                        Duration patience) {
  const auto stub = v1::Clock::NewStub(MakeChannel(controller, credentials));
  const auto ask = [&](v1::NowReply& reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::nanoseconds(patience.nanoseconds()));
    return stub->Now(&context, v1::NowRequest(), &reply);
  };
  v1::NowReply reply;
  grpc::Status status = ask(reply);  // also connects, which takes its time
  const int64_t before = NowMs();
  if (status.ok()) status = ask(reply);
  const int64_t after = NowMs();
  if (status.ok()) {
    return (static_cast<double>(reply.unix_ms()) - static_cast<double>(before) -
            static_cast<double>(after - before) / 2) /
           1000;
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return NotFound("it is a program of an earlier version");
  }
  if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
    return Invalid(status.error_message());
  }
  return Unavailable(Text("the call failed: ", status.error_message()));
}

}  // namespace metis::rpc
