// A model on its way to a participant (docs/wire.md): Open, chunks from the offset asked for, End.
// One chunk at a time is handed to gRPC, so that a slow reader costs one chunk of its window.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "metis/rpc/byte_buffers.h"
#include "metis/rpc/stream.h"

namespace metis::rpc {

class Download final : public Stream<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Start(
      CorePtr core, grpc::CallbackServerContext* context);

  Download(CorePtr core, grpc::CallbackServerContext* context);

  void Sweep(Clock::time_point now) override;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void Ended() override;

  void Open(const ReceivedFrame& frame);
  // Before the peer hears of the end: it may begin another at once.
  void Uncount();
  void Next();
  void Write(grpc::ByteBuffer frame);
  std::shared_ptr<Download> Self();

  // Set by the opening.
  ParticipantPtr participant_;
  bool counted_ = false;                     // among the participant's downloads
  std::optional<wire::ModelSender> sender_;  // used by one reaction at a time

  // Guarded by mutex_.
  bool opened_ = false;
  bool ended_ = false;  // the last frame is being written
  Clock::time_point progress_;
  grpc::ByteBuffer outgoing_;
};

}  // namespace metis::rpc
