#include "bench/exchange_bare.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/rpc/client_channel.h"

namespace metis::bench {
namespace {

constexpr int kRepetitions = 5;  // the fastest counts
constexpr size_t kMessage = size_t{1} << 20;

// Messages over one block of memory, so that sending copies nothing.
class Messages {
 public:
  explicit Messages(size_t bytes) : block_(kMessage, 'm'), left_(bytes) {}
  bool done() const { return left_ == 0; }
  grpc::ByteBuffer* Next() {
    const size_t size = std::min(left_, kMessage);
    left_ -= size;
    const grpc::Slice slice(block_.data(), size, grpc::Slice::STATIC_SLICE);
    message_ = grpc::ByteBuffer(&slice, 1);
    return &message_;
  }

 private:
  std::string block_;
  size_t left_;
  grpc::ByteBuffer message_;
};

// Reads to the end of what the peer says, then says as much.
class Answer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(size_t bytes) : messages_(bytes) { StartRead(&incoming_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Write();
    incoming_.Clear();
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override { ok ? Write() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void Write() { messages_.done() ? Finish(grpc::Status::OK) : StartWrite(messages_.Next()); }

  Messages messages_;
  grpc::ByteBuffer incoming_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(size_t bytes) : bytes_(bytes) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Answer(bytes_);
  }

 private:
  const size_t bytes_;
};

class Question final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Question(const std::shared_ptr<grpc::Channel>& channel, size_t bytes) : messages_(bytes) {
    grpc::GenericStub(channel).PrepareBidiStreamingCall(&context_, "/bare/Exchange", {}, this);
    StartRead(&incoming_);
    StartWrite(messages_.Next());
    StartCall();
  }
  // How many bytes came.
  size_t Wait() { return ended_.get_future().get(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    received_ += incoming_.Length();
    incoming_.Clear();
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) messages_.done() ? StartWritesDone() : StartWrite(messages_.Next());
  }
  void OnDone(const grpc::Status& status) override {
    METIS_CHECK_MSG(status.ok(), status.error_message());
    ended_.set_value(received_);
  }

 private:
  grpc::ClientContext context_;
  Messages messages_;
  grpc::ByteBuffer incoming_;
  size_t received_ = 0;
  std::promise<size_t> ended_;
};

std::shared_ptr<grpc::ServerCredentials> ServerSide(
    const std::optional<rpc::Credentials>& credentials) {
  if (!credentials) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = credentials->ca;
  tls.pem_key_cert_pairs = {{credentials->key, credentials->certificate}};
  return grpc::SslServerCredentials(tls);
}

}  // namespace

double MeasureBareGrpc(uint32_t learners, size_t model_bytes,
                       const std::optional<rpc::Credentials>& server,
                       const std::optional<rpc::Credentials>& client) {
  Service service(model_bytes);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", ServerSide(server), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> listening = builder.BuildAndStart();
  METIS_CHECK(listening != nullptr);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (uint32_t k = 0; k < learners; ++k) {
    channels.push_back(rpc::MakeChannel({"127.0.0.1", static_cast<uint16_t>(port)}, client));
  }
  double fastest = 1e9;
  for (int i = 0; i <= kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<Question>> questions;
    for (const auto& channel : channels) {
      questions.push_back(std::make_unique<Question>(channel, model_bytes));
    }
    for (const auto& question : questions) METIS_CHECK(question->Wait() == model_bytes);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i > 0) fastest = std::min(fastest, taken.count());  // the first one also connects
  }
  channels.clear();
  listening->Shutdown();
  return fastest;
}

}  // namespace metis::bench
