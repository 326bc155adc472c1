// The update of a participant on its way to the controller: tried again until it is there, refused
// for good, answered, or overtaken by a newer one. Only the bytes that the controller does not have
// yet are sent again. The participant's loop owns it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/rpc/backoff.h"
#include "metis/rpc/byte_buffers.h"
#include "metis/rpc/client_stream.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::rpc {

using RawStream = ClientStream<grpc::ByteBuffer, grpc::ByteBuffer>;

// What transfers have in common.
struct TransferContext {
  OpenStreams& streams;
  Duration stalled;
  Duration first_pause;
  Duration longest_pause;
  std::string name;  // of the participant
  std::function<void(const std::string&)> say;
  std::function<void(federation::Action)> deliver;  // to the participant
};

// The last frame of a transfer.
Result<v1::TransferEnd> ReadEnd(const ReceivedFrame& frame);

class ClientUpload {
 public:
  explicit ClientUpload(const TransferContext& context);

  // One that is on its way already is not sent twice; another one replaces it.
  void Send(federation::UpdateReceived update, ModelPool& pool);
  void Connected(const Connection& connection);
  void Disconnected();
  // The controller has answered this update.
  void Settled(const federation::UpdateId& id, bool accepted);
  void Tick(Instant now);  // pauses that are over, transfers that stand still
  void Close();

 private:
  void Begin();
  void Received(grpc::ByteBuffer& buffer);
  void Resume(uint64_t offset);
  void WriteNext();
  void Ended(const v1::TransferEnd& end);
  void Refused(const v1::TransferEnd& end);
  // Cuts the stream, if any, and tries again after a pause.
  void TryAgain(const std::string& why);
  void Drop();

  const TransferContext& context_;
  Backoff backoff_;
  std::optional<Connection> connection_;
  ModelPool* pool_ = nullptr;
  std::optional<federation::UpdateReceived> update_;  // empty: nothing to do
  ModelPtr model_;  // as it travels with this encoding; null until it is known
  wire::Encoding encoding_ = wire::Encoding::kRaw;
  std::shared_ptr<RawStream> stream_;
  std::optional<wire::ModelSender> sender_;  // once the controller has said where to go on
  Instant progress_;
  Instant due_;  // without a stream: not before
};

}  // namespace metis::rpc
