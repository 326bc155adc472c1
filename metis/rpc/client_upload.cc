#include "metis/rpc/client_upload.h"

#include <utility>

#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {
// A controller that receives many models lets the next one wait before it says where to go on.
constexpr int64_t kPatienceForATurn = 10;
}  // namespace

Result<v1::TransferEnd> ReadEnd(const ReceivedFrame& frame) {
  const std::string payload = frame.Payload();
  if (Result<void> good = wire::CheckPayload(frame.header, std::as_bytes(std::span(payload)));
      !good) {
    return good.error();
  }
  v1::TransferEnd end;
  if (!end.ParseFromString(payload)) return Invalid("the end of a transfer can't be read");
  return end;
}

ClientUpload::ClientUpload(const TransferContext& context)
    : context_(context),
      backoff_(context.first_pause, context.longest_pause, context.name + "/upload") {}

void ClientUpload::Send(federation::UpdateReceived update, ModelPool& pool) {
  if (update_ && update_->id == update.id) return;
  Drop();
  pool_ = &pool;
  update_ = std::move(update);
  backoff_.Reset();
  due_ = Instant();
  Begin();
}

void ClientUpload::Connected(const Connection& connection) {
  connection_ = connection;
  due_ = Instant();
  Begin();
}

void ClientUpload::Disconnected() {
  connection_.reset();
  if (stream_) std::exchange(stream_, nullptr)->Abandon();
  sender_.reset();
}

void ClientUpload::Settled(const federation::UpdateId& id, bool accepted) {
  if (!update_ || update_->id != id) return;
  if (accepted && stream_) std::exchange(stream_, nullptr)->Release();
  Drop();
}

void ClientUpload::Close() {
  Drop();
  connection_.reset();
}

void ClientUpload::Drop() {
  if (stream_) std::exchange(stream_, nullptr)->Abandon();
  sender_.reset();
  update_.reset();
  model_.reset();
}

void ClientUpload::Tick(Instant now) {
  if (!update_ || !connection_) return;
  if (!stream_) {
    if (now >= due_) Begin();
    return;
  }
  const int64_t patience = sender_ ? 1 : kPatienceForATurn;
  if (now - progress_ > patience * context_.stalled) {
    TryAgain(Text("nothing moved for ", Fixed((now - progress_).seconds(), 1), " s"));
  }
}

void ClientUpload::Begin() {
  if (!update_ || !connection_ || stream_) return;
  if (!model_ || encoding_ != connection_->encoding) {
    encoding_ = connection_->encoding;
    model_ = wire::AsTransferred(update_->model, encoding_, *pool_);
  }
  v1::OpenUpload open;
  open.set_token(connection_->token);
  *open.mutable_update() = wire::EncodeUpdate(*update_);
  open.set_fingerprint(model_->Fingerprint());
  open.set_encoding(wire::EncodeEncoding(encoding_));
  open.set_schema_hash(model_->schema()->hash());
  progress_ = context_.streams.loop().now();
  stream_ = RawStream::Open(
      context_.streams, connection_->channel, "Upload",
      {.received = [this](grpc::ByteBuffer& buffer) { Received(buffer); },
       .written =
           [this] {
             progress_ = context_.streams.loop().now();
             if (sender_) WriteNext();
           },
       .done = [this](const grpc::Status& status) { TryAgain(status.error_message()); }});
  stream_->Write(MakeFrame(wire::FrameKind::kOpen, open.SerializeAsString()));
}

void ClientUpload::Received(grpc::ByteBuffer& buffer) {
  progress_ = context_.streams.loop().now();
  Result<ReceivedFrame> frame = OpenFrame(buffer);
  if (!frame) return TryAgain(frame.error().message);
  if (frame->header.kind == wire::FrameKind::kResume && !sender_) {
    return Resume(frame->header.offset);
  }
  if (frame->header.kind == wire::FrameKind::kEnd) {
    Result<v1::TransferEnd> end = ReadEnd(*frame);
    return end ? Ended(*end) : TryAgain(end.error().message);
  }
  TryAgain("the controller sent a frame that has no place in an upload");
}

void ClientUpload::Resume(uint64_t offset) {
  wire::ModelSender sender(model_, encoding_);
  if (Result<void> resumed = sender.ResumeAt(offset); !resumed) {
    return TryAgain(resumed.error().message);
  }
  sender_ = std::move(sender);
  // The opening may still be on its way out: then the first chunk follows it.
  if (stream_->can_write()) WriteNext();
}

void ClientUpload::WriteNext() {
  if (sender_->done()) return;  // the controller has the last word
  backoff_.Reset();
  stream_->Write(MakeChunk(*sender_));
}

void ClientUpload::Ended(const v1::TransferEnd& end) {
  if (end.ok()) {
    std::exchange(stream_, nullptr)->Release();
    Drop();  // should its answer be lost, it is handed over again
  } else if (end.final()) {
    Refused(end);
  } else {
    TryAgain(end.message());
  }
}

void ClientUpload::Refused(const v1::TransferEnd& end) {
  using federation::RejectReason;
  const bool known = end.has_reason() && end.reason() < EnumNames(RejectReason::kGate).size();
  const RejectReason reason = known ? static_cast<RejectReason>(end.reason()) : RejectReason::kGate;
  const federation::UpdateId id = update_->id;
  std::exchange(stream_, nullptr)->Release();
  Drop();
  context_.deliver(federation::RejectUpdate{id, reason, end.message()});
}

void ClientUpload::TryAgain(const std::string& why) {
  if (stream_) std::exchange(stream_, nullptr)->Abandon();
  sender_.reset();
  const Duration pause = backoff_.Next();
  due_ = context_.streams.loop().now() + pause;
  context_.say(Text("update ", update_->id.sequence, " did not get through (", why,
                    "): trying again in ", Fixed(pause.seconds(), 1), " s"));
}

}  // namespace metis::rpc
