// What the tests of the controller's server share: a controller that listens on loopback, and a
// participant made of bare gRPC calls, which can also misbehave. Every call ends, after a minute
// unless a test says otherwise.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/federation/testing.h"
#include "metis/rpc/byte_buffers.h"
#include "metis/rpc/client_upload.h"
#include "metis/rpc/controller_server.h"
#include "metis/wire/messages.h"
#include "proto/metis/v1/federation.grpc.pb.h"

namespace metis::rpc {

inline constexpr std::chrono::seconds kBound{60};

inline bool WaitFor(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kBound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// A federation that begins with its first learner.
class Served {
 public:
  struct Options {
    size_t parameters = 300'001;  // more than one chunk, and no round number
    NetworkSettings network;
    Duration heartbeat = Duration::Seconds(60);
    std::optional<Credentials> credentials;
    CertificateAuthority* authority = nullptr;
    std::string policy = "async-fedavg";
    std::function<Result<void>(const ModelPtr&)> keep;
    std::string control;  // socket for operators
    OperatorHooks operators;
  };

  static const Options& Defaults() {
    static const Options defaults;
    return defaults;
  }
  Served() : Served(Defaults()) {}
  explicit Served(Options options) : models(options.parameters) {
    federation::Settings settings = federation::SettingsFor(options.policy, 3);
    settings.membership.start_with = 1;
    host = drivers::ControllerProcess::Open({.settings = settings, .initial = Make(0.125f)},
                                            models.pool(), log, nullptr, nullptr)
               .value();
    options.network.listen = "127.0.0.1:0";
    server_options_.settings = options.network;
    server_options_.credentials = options.credentials;
    server_options_.authority = options.authority;
    server_options_.federation = "the test's";
    server_options_.config_toml = "seed = 1990\n";
    server_options_.program = "metis test";
    server_options_.heartbeat = options.heartbeat;
    server_options_.keep = options.keep;
    server_options_.control = options.control;
    server_options_.operators = options.operators;
    server_options_.audit = [this](const Refusal& refusal) {
      std::scoped_lock lock(mutex_);
      refusals_.push_back(refusal);
    };
    server = ControllerServer::Start(server_options_, *host, models.pool()).value();
    host->Start(*server);
  }
  ~Served() {
    server->Shutdown(Duration());
    host->Stop();
  }

  // Values that the gate lets through, whatever their number.
  ModelPtr Make(float value) {
    ModelDraft draft = models.pool().Draft();
    size_t place = 0;
    for (float& parameter : draft.parameters()) {
      parameter = value + 0.25f * static_cast<float>(place++ % 997);
    }
    return std::move(draft).Seal();
  }
  std::string address() const { return Text("127.0.0.1:", server->port()); }
  size_t Audited(const std::string& reason) {
    std::scoped_lock lock(mutex_);
    size_t count = 0;
    for (const Refusal& refusal : refusals_) count += refusal.reason == reason ? 1u : 0u;
    return count;
  }
  bool WaitAudited(const std::string& reason) {
    return WaitFor([&] { return Audited(reason) > 0; });
  }
  std::vector<Refusal> Refusals() {
    std::scoped_lock lock(mutex_);
    return refusals_;
  }
  Refusal LastRefusal() {
    std::scoped_lock lock(mutex_);
    return refusals_.empty() ? Refusal{} : refusals_.back();
  }
  template <typename Look>
  auto Ask(Look look) {
    decltype(look(std::declval<const federation::Controller&>())) answer{};
    host->Inspect([&](const auto& controller, Instant) { answer = look(controller); });
    return answer;
  }

  federation::Models models;
  drivers::MemoryEventLog log;
  std::unique_ptr<drivers::ControllerProcess> host;
  std::unique_ptr<ControllerServer> server;

 private:
  ControllerServerOptions server_options_;
  std::mutex mutex_;
  std::vector<Refusal> refusals_;
};

inline std::shared_ptr<grpc::Channel> Dial(
    const std::string& address,
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials(),
    const std::string& target_name = "", int window_bytes = 8 << 20) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window_bytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // which would widen it
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20);
  arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 4 << 20);
  if (!target_name.empty()) arguments.SetSslTargetNameOverride(target_name);
  return grpc::CreateCustomChannel(address, std::move(credentials), arguments);
}

inline std::shared_ptr<grpc::ChannelCredentials> ClientOf(const Credentials& credentials,
                                                          bool with_certificate = true) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = credentials.ca;
  if (with_certificate) {
    options.pem_cert_chain = credentials.certificate;
    options.pem_private_key = credentials.key;
  }
  return grpc::SslCredentials(options);
}

// A conversation, spoken by hand.
class Talk {
 public:
  Talk(std::shared_ptr<grpc::Channel> channel, const std::string& name, uint32_t incarnation = 1,
       std::chrono::seconds bound = kBound)
      : channel_(std::move(channel)), stub_(v1::Federation::NewStub(channel_)), name_(name) {
    context_.set_deadline(std::chrono::system_clock::now() + bound);
    stream_ = stub_->Converse(&context_);
    hello_.set_oldest_version(wire::kOldestWire);
    hello_.set_newest_version(wire::kNewestWire);
    hello_.set_name(name);
    hello_.set_incarnation(incarnation);
    hello_.set_program("a test");
  }
  ~Talk() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  v1::Hello& hello() { return hello_; }
  // What the controller says first.
  v1::ToParticipant Greet() {
    v1::FromParticipant message;
    *message.mutable_hello() = hello_;
    Write(message);
    v1::ToParticipant answer;
    Read(answer);
    if (answer.has_welcome()) welcome = answer.welcome();
    return answer;
  }
  // Greets and joins as a learner with this many training examples.
  bool Join(const ModelSchema& schema, uint64_t examples = 30) {
    if (!Greet().has_welcome()) return false;
    v1::FromParticipant message;
    message.mutable_join()->set_training_examples(examples);
    message.mutable_join()->set_schema_hash(schema.hash());
    Write(message);
    return Next(v1::ToParticipant::kAccepted).has_accepted();
  }
  bool Write(const v1::FromParticipant& message) { return stream_->Write(message); }
  bool Beat() {
    v1::FromParticipant message;
    message.mutable_heartbeat();
    return Write(message);
  }
  bool Read(v1::ToParticipant& message) { return stream_->Read(&message); }
  // The next message of this kind; others are passed over. Empty at the end of the stream.
  v1::ToParticipant Next(v1::ToParticipant::ContentCase kind) {
    v1::ToParticipant message;
    while (Read(message)) {
      if (message.content_case() == kind) return message;
    }
    return {};
  }
  void Cancel() { context_.TryCancel(); }  // any thread
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }

  v1::Welcome welcome;

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Federation::Stub> stub_;
  std::string name_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::FromParticipant, v1::ToParticipant>> stream_;
  v1::Hello hello_;
  bool finished_ = false;
};

// A stream of frames, spoken by hand.
class Transfer {
 public:
  Transfer(std::shared_ptr<grpc::Channel> channel, const std::string& method)
      : channel_(std::move(channel)),
        name_("/metis.v1.Federation/" + method),
        method_(name_.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, channel_) {
    context_.set_deadline(std::chrono::system_clock::now() + kBound);
    stream_.reset(
        grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
            channel_.get(), method_, &context_));
  }
  ~Transfer() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  bool Write(const grpc::ByteBuffer& frame) { return stream_->Write(frame); }
  template <typename Message>
  bool Open(const Message& message) {
    return Write(MakeFrame(wire::FrameKind::kOpen, message.SerializeAsString()));
  }
  // Empty at the end of the stream.
  std::optional<ReceivedFrame> Read() {
    grpc::ByteBuffer buffer;
    if (!stream_->Read(&buffer)) return std::nullopt;
    Result<ReceivedFrame> frame = OpenFrame(buffer);
    EXPECT_TRUE(frame.ok());
    return std::move(*frame);
  }
  v1::TransferEnd ReadEnd() {
    v1::TransferEnd end;
    std::optional<ReceivedFrame> frame = Read();
    EXPECT_TRUE(frame && frame->header.kind == wire::FrameKind::kEnd);
    EXPECT_TRUE(frame && end.ParseFromString(frame->Payload()));
    return end;
  }
  void WritesDone() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  const std::string name_;
  grpc::internal::RpcMethod method_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
  bool finished_ = false;
};

// The opening of an update that is fine, except for what a test changes.
inline v1::OpenUpload OpeningOf(const Talk& talk, const ModelPtr& model, uint64_t sequence = 1) {
  v1::OpenUpload open;
  open.set_token(talk.welcome.token());
  open.set_encoding(talk.welcome.encoding());
  open.set_fingerprint(model->Fingerprint());
  federation::UpdateReceived update;
  update.id.sequence = Sequence(sequence);
  update.steps = 10;
  update.cycle.cycle = sequence;
  *open.mutable_update() = wire::EncodeUpdate(update);
  return open;
}

// Sends chunks until the model is whole, or `most` were sent.
inline void SendChunks(Transfer& transfer, wire::ModelSender& sender, size_t most = SIZE_MAX) {
  for (size_t sent = 0; sent < most && !sender.done(); ++sent) {
    if (!transfer.Write(MakeChunk(sender))) return;
  }
}

// A whole upload; the offset at which the server let it begin, and its last words.
struct Uploaded {
  uint64_t offset = 0;  // where it began
  v1::TransferEnd end;
};
inline Uploaded UploadWhole(const std::shared_ptr<grpc::Channel>& channel,
                            const v1::OpenUpload& open, const ModelPtr& model,
                            wire::Encoding encoding = wire::Encoding::kRaw) {
  Transfer transfer(channel, "Upload");
  transfer.Open(open);
  std::optional<ReceivedFrame> resume = transfer.Read();
  if (resume && resume->header.kind == wire::FrameKind::kEnd) {  // nothing of it is needed
    return {model->bytes().size(), rpc::ReadEnd(*resume).value()};
  }
  EXPECT_TRUE(resume && resume->header.kind == wire::FrameKind::kResume);
  if (!resume) return {0, {}};
  wire::ModelSender sender(model, encoding, resume->header.offset);
  SendChunks(transfer, sender);
  Uploaded uploaded{resume->header.offset, transfer.ReadEnd()};
  EXPECT_TRUE(transfer.Finish().ok());
  return uploaded;
}

}  // namespace metis::rpc
