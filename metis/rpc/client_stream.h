// A participant's streams. All decisions are made on one loop thread; gRPC's threads only post to
// it what happened, so that nothing here needs a lock and nothing waits.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "metis/core/check.h"
#include "metis/drivers/event_loop.h"
#include "metis/wire/settings.h"

namespace metis::rpc {

// Where a participant stands once it is welcomed.
struct Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::string token;  // opens its transfers
  wire::Encoding encoding = wire::Encoding::kRaw;
};

// Counts the streams that gRPC still knows of: the loop may not end before they have. Thread-safe.
class OpenStreams {
 public:
  explicit OpenStreams(drivers::EventLoop& loop) : loop_(loop) {}

  drivers::EventLoop& loop() { return loop_; }
  void Opened() {
    std::scoped_lock lock(mutex_);
    ++open_;
  }
  void Closed() {
    std::scoped_lock lock(mutex_);
    if (--open_ == 0) none_.notify_all();
  }
  // All of them must have been abandoned, or be about to end. Not from the loop.
  void AwaitNone() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  drivers::EventLoop& loop_;
  std::mutex mutex_;
  std::condition_variable none_;
  int open_ = 0;
};

// One bidirectional call. Everything public is called on the loop.
template <typename Out, typename In>
class ClientStream final : public grpc::ClientBidiReactor<Out, In>,
                           public std::enable_shared_from_this<ClientStream<Out, In>> {
 public:
  // Called on the loop; none after Abandon() or Release().
  struct Reactions {
    std::function<void(In&)> received;
    std::function<void()> written;  // the next message may be written
    std::function<void(const grpc::Status&)> done;
  };

  static std::shared_ptr<ClientStream> Open(OpenStreams& streams,
                                            std::shared_ptr<grpc::Channel> channel,
                                            const std::string& method, Reactions reactions) {
    std::shared_ptr<ClientStream> stream(
        new ClientStream(streams, std::move(channel), std::move(reactions)));
    streams.Opened();
    stream->self_ = stream;
    grpc::TemplatedGenericStub<Out, In>(stream->channel_)
        .PrepareBidiStreamingCall(&stream->context_, "/metis.v1.Federation/" + method, {},
                                  stream.get());
    stream->AddHold();  // reads and writes are started by the loop
    stream->StartRead(&stream->incoming_);
    stream->StartCall();
    return stream;
  }

  bool can_write() const { return !writing_ && !closed_ && !last_written_; }
  void Write(Out message) {
    METIS_CHECK(!writing_ && !last_written_);
    if (closed_) return;
    outgoing_ = std::move(message);
    writing_ = true;
    this->StartWrite(&outgoing_);
  }
  // Nothing more will be written.
  void FinishWriting() {
    last_written_ = true;
    if (!writing_) HalfClose();
  }
  // Cancels it.
  void Abandon() {
    deaf_ = true;
    context_.TryCancel();
  }
  // Leaves the rest to the peer, which ends it.
  void Release() {
    deaf_ = true;
    FinishWriting();
  }

 private:
  ClientStream(OpenStreams& streams, std::shared_ptr<grpc::Channel> channel, Reactions reactions)
      : streams_(streams), channel_(std::move(channel)), reactions_(std::move(reactions)) {}

  // --- On gRPC's threads
  void OnReadDone(bool ok) override {
    streams_.loop().Post([self = this->shared_from_this(), ok] { self->Read(ok); });
  }
  void OnWriteDone(bool ok) override {
    streams_.loop().Post([self = this->shared_from_this(), ok] { self->Written(ok); });
  }
  void OnDone(const grpc::Status& status) override {
    streams_.loop().Post([self = this->shared_from_this(), status] { self->Done(status); });
  }

  // --- On the loop
  void Read(bool ok) {
    if (!ok) {
      closed_ = true;
      this->RemoveHold();
      return;
    }
    if (!deaf_) reactions_.received(incoming_);
    incoming_ = In();
    this->StartRead(&incoming_);
  }
  void Written(bool ok) {
    writing_ = false;
    outgoing_ = Out();
    if (last_written_) return HalfClose();
    if (ok && !deaf_ && !closed_) reactions_.written();
  }
  void Done(const grpc::Status& status) {
    if (!deaf_) {
      deaf_ = true;
      reactions_.done(status);
    }
    self_.reset();
    streams_.Closed();
  }
  void HalfClose() {
    if (!closed_ && !std::exchange(half_closed_, true)) this->StartWritesDone();
  }

  OpenStreams& streams_;
  const std::shared_ptr<grpc::Channel> channel_;  // a call only borrows it
  const Reactions reactions_;
  grpc::ClientContext context_;
  std::shared_ptr<ClientStream> self_;  // until gRPC has let go
  In incoming_;
  Out outgoing_;
  bool writing_ = false;
  bool last_written_ = false;
  bool half_closed_ = false;
  bool closed_ = false;  // no read or write can succeed any more
  bool deaf_ = false;
};

}  // namespace metis::rpc
