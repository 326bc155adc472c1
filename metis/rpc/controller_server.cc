#include "metis/rpc/controller_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "metis/core/text.h"
#include "metis/rpc/client_channel.h"
#include "metis/rpc/clock_service.h"
#include "metis/rpc/conversation.h"
#include "metis/rpc/descriptors.h"
#include "metis/rpc/download.h"
#include "metis/rpc/enrolment.h"
#include "metis/rpc/grpc_log.h"
#include "metis/rpc/operations_service.h"
#include "metis/rpc/server_core.h"
#include "metis/rpc/upload.h"
#include "proto/metis/v1/federation.grpc.pb.h"

namespace metis::rpc {
namespace {

constexpr int kMaxMessageBytes = 20 << 20;
constexpr int kMaxMetadataBytes = 16 << 10;
constexpr int kMaxStreams = 32;  // of one connection: a conversation, and transfers
// Windows that keep a fast network busy: a few chunks each, which is 80 MB/s at 100 ms. Not
// measured by gRPC's probes: those let ten streams over loopback fill memory with chunks nobody has
// read.
constexpr int kWindowBytes = 8 << 20;
constexpr int kIdle_ms = 60'000;
constexpr int kHttpFrameBytes = (4 << 20) + 64;
constexpr int kWriteBufferBytes = 4 << 20;

using Methods =
    v1::Federation::WithCallbackMethod_Converse<v1::Federation::WithRawCallbackMethod_Upload<
        v1::Federation::WithRawCallbackMethod_Download<v1::Federation::Service>>>;

int Milliseconds(Duration duration) {
  return static_cast<int>(
      std::clamp<int64_t>(duration.nanoseconds() / 1'000'000, 1000, 24 * 3600 * 1000));
}

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const ControllerServerOptions& options) {
  if (!options.credentials) return grpc::InsecureServerCredentials();
  // Who has no certificate yet must be able to ask for one; what else it may do is nothing.
  grpc::SslServerCredentialsOptions tls(
      options.authority != nullptr ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                   : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = options.credentials->ca;
  tls.pem_key_cert_pairs = {{options.credentials->key, options.credentials->certificate}};
  return grpc::SslServerCredentials(tls);
}

void SetLimits(grpc::ServerBuilder& builder, const ControllerServerOptions& options) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(-1);
  // Two controllers on one port would share its connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttpFrameBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBufferBytes);
  // A peer that vanished is noticed even when nothing is sent to it.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(2 * options.heartbeat));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(2 * options.heartbeat));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Strangers who only hold a connection; a participant always has a call under way.
  if (options.authority != nullptr) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdle_ms);
  }
  // Participants may look for us as often as they like.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

// Turns away whoever may not speak at all.
Doorkeeper DoorkeeperOf(const CorePtr& core) {
  return [core](const grpc::CallbackServerContext& context) {
    const Proof proof = core->ProofOf(context);
    if (proof.denied) {
      core->Refuse(context.peer(), proof.names.empty() ? "" : proof.names.front(),
                   proof.denied->reason, proof.denied->message);
    }
    return proof.denied;
  };
}

}  // namespace

class ControllerServer::Service final : public Methods {
 public:
  Service(ControllerServerOptions options, drivers::ControllerHost& host, ModelPool& pool)
      : core_(std::make_shared<ServerCore>(std::move(options), host, pool)),
        operations_(core_),
        grpc_log_([this](const std::string& line) { Hear(line); }) {}
  ~Service() override { Shutdown(Duration()); }

  Result<void> Listen(const HostPort& address);
  void Shutdown(Duration grace);

  const CorePtr& core() const { return core_; }
  uint16_t port() const { return port_; }
  bool accepting() const {
    std::scoped_lock lock(watch_mutex_);
    return watch_ && watch_->accepting();
  }

 private:
  grpc::ServerBidiReactor<v1::FromParticipant, v1::ToParticipant>* Converse(
      grpc::CallbackServerContext* context) override {
    return Conversation::Start(core_, context);
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Upload(
      grpc::CallbackServerContext* context) override {
    return rpc::Upload::Start(core_, context);
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Download(
      grpc::CallbackServerContext* context) override {
    return rpc::Download::Start(core_, context);
  }

  void Hear(const std::string& line);
  void SweepUntilStopped();

  const CorePtr core_;
  const std::unique_ptr<grpc::Service> clock_ = MakeClockService(DoorkeeperOf(core_));
  OperationsService operations_;
  uint16_t port_ = 0;
  std::unique_ptr<EnrolmentService> enrolment_;  // null without an authority; outlives the server
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex watch_mutex_;  // of the pointer, which gRPC's log uses
  std::unique_ptr<AcceptWatch> watch_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread sweeper_;
  std::once_flag shut_;
  GrpcLog grpc_log_;  // last: it hears nothing once the rest is going
};

Result<void> ControllerServer::Service::Listen(const HostPort& address) {
  const ControllerServerOptions& options = core_->options;
  grpc::ServerBuilder builder;
  SetLimits(builder, options);
  int port = 0;
  builder.AddListeningPort(options.settings.listen, MakeCredentials(options), &port);
  builder.RegisterService(this);
  builder.RegisterService(clock_.get());
  if (options.authority != nullptr) {
    enrolment_ = std::make_unique<EnrolmentService>(core_);
    builder.RegisterService(enrolment_.get());
  }
  builder.RegisterService(&operations_);
  int control = 0;
  if (!options.control.empty()) {
    builder.AddListeningPort(AddressOfSocket(options.control), grpc::InsecureServerCredentials(),
                             &control);
  }
  // The socket is this user's alone from its first moment.
  const mode_t mask = ::umask(0177);
  server_ = builder.BuildAndStart();
  ::umask(mask);
  if (port != 0 && control == 0 && !options.control.empty()) {
    return Unavailable(Text("cannot listen on ", options.control,
                            ", the socket for operators: can its directory be written?"));
  }
  if (!server_ || port == 0) {
    return Unavailable(Text("cannot listen on ", options.settings.listen,
                            ": is the port in use, or is the address not of this machine?"));
  }
  port_ = static_cast<uint16_t>(port);
  {
    std::scoped_lock lock(watch_mutex_);
    watch_ = std::make_unique<AcceptWatch>(
        AcceptWatch::Options{.address = {address.host, port_},
                             .tls = options.credentials.has_value(),
                             .say = [core = core_](const std::string& text) { core->Say(text); },
                             .on_deaf = options.on_deaf});
  }
  sweeper_ = std::thread([this] { SweepUntilStopped(); });
  return {};
}

void ControllerServer::Service::Hear(const std::string& line) {
  if (line.find("Failed accept4") != line.npos) {
    std::scoped_lock lock(watch_mutex_);
    if (watch_) watch_->Suspect();
  }
  std::string why = HandshakeFailure(line);
  if (why.empty() || !core_->options.credentials) return;
  core_->workers.Post(
      [core = core_.get(), why = std::move(why)] { core->Refuse("", "", "tls", why); });
}

void ControllerServer::Service::SweepUntilStopped() {
  const auto often = std::min(core_->silence, core_->stalled) / 8;
  const auto pause = std::clamp<std::chrono::nanoseconds>(often, std::chrono::milliseconds(10),
                                                          std::chrono::seconds(1));
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return stopped_; })) {
    lock.unlock();
    core_->Sweep();
    lock.lock();
  }
}

void ControllerServer::Service::Shutdown(Duration grace) {
  std::call_once(shut_, [&] {
    core_->closing = true;
    core_->sender.Stop();  // what was handed over is in the queues now
    const auto until = Clock::now() + std::chrono::nanoseconds(grace.nanoseconds());
    for (const std::shared_ptr<LiveStream>& stream : core_->Streams()) {
      auto* conversation = dynamic_cast<Conversation*>(stream.get());
      while (conversation != nullptr && !conversation->idle() && Clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (conversation != nullptr) conversation->Hang("the controller is ending");
    }
    if (server_) {
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    }
    {
      std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_one();
    if (sweeper_.joinable()) sweeper_.join();
    core_->workers.Stop();
    if (enrolment_) enrolment_->Stop();
    server_ = nullptr;
    std::unique_ptr<AcceptWatch> watch;
    std::scoped_lock lock(watch_mutex_);
    watch.swap(watch_);
  });
}

// --- The server

ControllerServer::ControllerServer(std::unique_ptr<Service> service)
    : service_(std::move(service)) {}

ControllerServer::~ControllerServer() = default;

Result<std::unique_ptr<ControllerServer>> ControllerServer::Start(ControllerServerOptions options,
                                                                  drivers::ControllerHost& host,
                                                                  ModelPool& pool) {
  Result<HostPort> address = ParseHostPort(options.settings.listen);
  if (!address) return address.error().In("network.listen");
  if (!options.credentials && !IsLoopback(address->host)) {
    return Invalid(Text("network.listen is ", options.settings.listen,
                        ", which others can reach, and there are no certificates: models and "
                        "names would travel unprotected. Set the certificates, or listen on "
                        "127.0.0.1"));
  }
  Result<std::string> warning = RaiseDescriptorLimit(options.settings.max_connections);
  if (!warning) return warning.error();
  auto service = std::make_unique<Service>(std::move(options), host, pool);
  if (!warning->empty()) service->core()->Say(*warning);
  if (Result<void> listening = service->Listen(*address); !listening) return listening.error();
  return std::unique_ptr<ControllerServer>(new ControllerServer(std::move(service)));
}

uint16_t ControllerServer::port() const { return service_->port(); }

bool ControllerServer::accepting() const { return service_->accepting(); }

void ControllerServer::Send(LearnerId to, const federation::Action& message) {
  service_->core()->sender.Post(
      [core = service_->core().get(), to, message] { core->Deliver(to, message); });
}

void ControllerServer::Refused(LearnerId who, const std::string& reason,
                               const std::string& message) {
  service_->core()->sender.Post([core = service_->core().get(), who, reason, message] {
    core->RefuseKnown(who, reason, message);
  });
}

Traffic ControllerServer::traffic() const {
  const ServerCore& core = *service_->core();
  return {core.bytes_received, core.bytes_sent, core.conversations, core.refusals};
}

std::map<LearnerId, std::string> ControllerServer::Connections() const {
  return service_->core()->participants.Connections();
}

std::set<LearnerId> ControllerServer::dismissed() const { return service_->core()->Dismissed(); }

void ControllerServer::Shutdown(Duration grace) { service_->Shutdown(grace); }

}  // namespace metis::rpc
