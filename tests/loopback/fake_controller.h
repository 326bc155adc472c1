// A controller made of threads that wait: for tests of participants. It keeps what it hears, says
// what it is told to say, and cuts or spoils transfers on demand. For tests only.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/rpc/byte_buffers.h"
#include "metis/wire/messages.h"
#include "proto/metis/v1/federation.grpc.pb.h"

namespace metis::rpc {

class FakeController final : private grpc::Service {
 public:
  template <typename In, typename Out>
  using Both = grpc::ServerReaderWriter<Out, In>;
  using Raw = Both<grpc::ByteBuffer, grpc::ByteBuffer>;
  using Talk = Both<v1::FromParticipant, v1::ToParticipant>;

  // --- What it is and does; set before Start(), or under Change()
  v1::Welcome welcome;
  std::string refusal;                 // not empty: every Hello is refused
  uint32_t not_now = 0;                // so many Hellos are refused for now
  bool silent = false;                 // reads, and never says a word
  bool hang_up = false;                // at the next word of the participant, once
  uint64_t cut_after = UINT64_MAX;     // a transfer breaks after so many bytes of values, once each
  bool end_finally = false;            // an upload is refused for good
  std::optional<uint32_t> end_reason;  // with this reason
  uint32_t spoil = 0;                  // so many chunks of downloads have a wrong checksum
  bool hold_downloads = false;         // they say nothing after their opening
  std::map<uint64_t, ModelPtr> models;
  std::map<uint64_t, ModelPtr> sent_instead;  // of these, once each

  struct Opening {
    uint64_t fingerprint = 0;
    uint64_t offset = 0;
  };

  explicit FakeController(ModelPool& pool) : pool_(pool) {
    Add<Talk, v1::FromParticipant, v1::ToParticipant>("Converse", &FakeController::Converse);
    Add<Raw, grpc::ByteBuffer, grpc::ByteBuffer>("Upload", &FakeController::Upload);
    Add<Raw, grpc::ByteBuffer, grpc::ByteBuffer>("Download", &FakeController::Download);
    welcome.set_version(wire::kNewestWire);
    welcome.set_learner(3);
    welcome.set_token("0123456789abcdef");
    welcome.set_federation("test");
    welcome.set_config("[policy]\n");
    *welcome.mutable_schema() = wire::EncodeSchema(*pool.schema());
  }
  ~FakeController() override { Stop(); }

  // Port 0: a free one, kept for later starts.
  void Start(
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Text("127.0.0.1:", port_), credentials, &port_);
    builder.RegisterService(this);
    builder.SetMaxReceiveMessageSize(20 << 20);
    server_ = builder.BuildAndStart();
    METIS_CHECK(server_ != nullptr && port_ != 0);
  }
  void Stop() {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }
  uint16_t port() const { return static_cast<uint16_t>(port_); }

  void Change(const std::function<void()>& change) {
    std::scoped_lock lock(mutex_);
    change();
    changed_.notify_all();
  }
  // False if it did not come about in a minute. `seen` may look at everything below.
  bool Await(const std::function<bool()>& seen) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), seen);
  }
  // To the participant of the current conversation; waits for one.
  void Say(const v1::ToParticipant& message) {
    METIS_CHECK(Await([this] { return talk_ != nullptr; }));
    std::scoped_lock lock(mutex_);
    if (talk_ != nullptr) talk_->Write(message);
  }
  void Offer(federation::Action action, bool known = true) {
    const ModelPtr model = wire::ModelOf(action);
    const uint64_t fingerprint = model->Fingerprint();
    if (known) Change([&] { models[fingerprint] = model; });
    Say(*wire::EncodeAction(action, fingerprint));
  }

  // --- What it saw; under Await() or Change()
  std::vector<v1::FromParticipant> heard;
  size_t conversations = 0;
  size_t hung_up = 0;  // conversations that the participant ended by saying nothing more
  std::vector<v1::OpenUpload> uploads;
  std::vector<ModelPtr> received;
  uint64_t uploaded_bytes = 0;
  std::vector<Opening> downloads;
  uint64_t downloaded_bytes = 0;

 private:
  template <typename Streamer, typename In, typename Out>
  void Add(const std::string& name, grpc::Status (FakeController::*method)(Streamer&)) {
    names_.push_back(std::make_unique<std::string>("/metis.v1.Federation/" + name));
    AddMethod(new grpc::internal::RpcServiceMethod(
        names_.back()->c_str(), grpc::internal::RpcMethod::BIDI_STREAMING,
        new grpc::internal::BidiStreamingHandler<FakeController, In, Out>(
            [method](FakeController* self, grpc::ServerContext*, Streamer* stream) {
              return (self->*method)(*stream);
            },
            this)));
  }

  grpc::Status Converse(Talk& talk) {
    v1::FromParticipant message;
    if (!talk.Read(&message) || !message.has_hello()) return grpc::Status::CANCELLED;
    v1::ToParticipant first;
    bool quiet = false;
    Change([&] {
      heard.push_back(message);
      ++conversations;
      quiet = silent;
      if (not_now > 0) {
        --not_now;
        first.mutable_refused()->set_message("all places are taken");
        first.mutable_refused()->set_retry(true);
      } else if (refusal.empty()) {
        *first.mutable_welcome() = welcome;
      } else {
        first.mutable_refused()->set_message(refusal);
      }
    });
    if (!quiet) talk.Write(first);
    if (first.has_refused()) return grpc::Status::OK;
    if (!quiet) Change([&] { talk_ = &talk; });
    bool over = false;
    while (!over && talk.Read(&message)) {
      Change([&] {
        heard.push_back(message);
        over = std::exchange(hang_up, false);
        if (message.has_heartbeat() && !silent) {
          v1::ToParticipant answer;
          answer.mutable_heartbeat();
          talk.Write(answer);
        }
      });
    }
    Change([&] {
      if (!over) ++hung_up;
      if (talk_ == &talk) talk_ = nullptr;
    });
    return grpc::Status::OK;
  }

  static grpc::Status Malformed(const std::string& why) {
    return {grpc::StatusCode::INVALID_ARGUMENT, why};
  }

  static void End(Raw& stream, bool ok, bool final, const std::string& message,
                  std::optional<uint32_t> reason = std::nullopt) {
    v1::TransferEnd end;
    end.set_ok(ok);
    end.set_final(final);
    end.set_message(message);
    if (reason) end.set_reason(*reason);
    stream.Write(MakeFrame(wire::FrameKind::kEnd, end.SerializeAsString()));
  }

  grpc::Status Upload(Raw& stream) {
    grpc::ByteBuffer buffer;
    v1::OpenUpload open;
    if (!stream.Read(&buffer) || !open.ParseFromString(OpenFrame(buffer)->Payload())) {
      return Malformed("no opening");
    }
    if (open.token() != welcome.token()) return {grpc::StatusCode::UNAUTHENTICATED, "token"};
    bool refuse = false;
    Change([&] {
      uploads.push_back(open);
      refuse = end_finally;
      if (!partial_ || partial_->fingerprint() != open.fingerprint()) {
        partial_.emplace(pool_, *wire::DecodeEncoding(open.encoding()), open.fingerprint());
      }
    });
    if (refuse) {
      End(stream, false, true, "of no use", end_reason);
      return grpc::Status::OK;
    }
    stream.Write(MakeFrame(wire::FrameKind::kResume, "", partial_->offset()));
    while (!partial_->complete() && stream.Read(&buffer)) {
      Result<ReceivedFrame> frame = OpenFrame(buffer);
      if (!frame) return Malformed(frame.error().message);
      Result<void> added = partial_->AddPieces(frame->header, frame->pieces);
      if (!added) return Malformed(added.error().message);
      bool cut = false;
      Change([&] {
        uploaded_bytes += frame->header.decoded_length;
        cut = partial_->offset() >= cut_after;
        if (cut) cut_after = UINT64_MAX;
      });
      if (cut) return {grpc::StatusCode::UNAVAILABLE, "cut"};
    }
    if (!partial_->complete()) return grpc::Status::CANCELLED;
    Result<ModelPtr> model = std::move(*partial_).Take();
    METIS_CHECK(model.ok());
    Change([&] {
      partial_.reset();
      received.push_back(*model);
    });
    End(stream, true, false, "");
    return grpc::Status::OK;
  }

  grpc::Status Download(Raw& stream) {
    grpc::ByteBuffer buffer;
    v1::OpenDownload open;
    if (!stream.Read(&buffer) || !open.ParseFromString(OpenFrame(buffer)->Payload())) {
      return Malformed("no opening");
    }
    ModelPtr model;
    bool hold = false;
    Change([&] {
      downloads.push_back({open.fingerprint(), open.offset()});
      if (auto found = models.find(open.fingerprint()); found != models.end())
        model = found->second;
      if (auto wrong = sent_instead.extract(open.fingerprint())) model = wrong.mapped();
      hold = hold_downloads;
    });
    if (!model) {
      End(stream, false, true, "no such offer");
      return grpc::Status::OK;
    }
    if (hold) {
      while (stream.Read(&buffer)) {
      }
      return grpc::Status::CANCELLED;
    }
    return SendModel(
        stream, wire::ModelSender(model, *wire::DecodeEncoding(welcome.encoding()), open.offset()));
  }

  grpc::Status SendModel(Raw& stream, wire::ModelSender sender) {
    while (!sender.done()) {
      const uint64_t from = sender.offset();
      grpc::ByteBuffer chunk = MakeChunk(sender);
      bool cut = false;
      Change([&] {
        if (spoil > 0) {
          --spoil;
          chunk = Spoiled(chunk);
        }
        downloaded_bytes += sender.offset() - from;
        cut = sender.offset() >= cut_after;
        if (cut) cut_after = UINT64_MAX;
      });
      if (!stream.Write(chunk)) return grpc::Status::CANCELLED;
      if (cut) return {grpc::StatusCode::UNAVAILABLE, "cut"};
    }
    End(stream, true, false, "");
    return grpc::Status::OK;
  }

  // The same frame with its last byte changed.
  static grpc::ByteBuffer Spoiled(const grpc::ByteBuffer& buffer) {
    grpc::Slice whole;
    METIS_CHECK(buffer.DumpToSingleSlice(&whole).ok());
    std::string bytes(whole.begin(), whole.end());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    const grpc::Slice changed(bytes);
    return {&changed, 1};
  }

  ModelPool& pool_;
  std::vector<std::unique_ptr<std::string>> names_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Talk* talk_ = nullptr;
  std::optional<wire::ModelReceiver> partial_;
};

}  // namespace metis::rpc
