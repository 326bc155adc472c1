#include "metis/rpc/download.h"

#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::rpc {
namespace {

grpc::ByteBuffer EndFrame(bool ok, const std::string& message) {
  v1::TransferEnd end;
  end.set_ok(ok);
  end.set_message(message);
  end.set_final(!ok);
  return MakeFrame(wire::FrameKind::kEnd, end.SerializeAsString());
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Download::Start(
    CorePtr core, grpc::CallbackServerContext* context) {
  auto download = std::make_shared<Download>(std::move(core), context);
  download->Begin();
  return download.get();
}

Download::Download(CorePtr core, grpc::CallbackServerContext* context)
    : Stream(std::move(core), context), progress_(Clock::now()) {}

std::shared_ptr<Download> Download::Self() {
  return std::static_pointer_cast<Download>(shared_from_this());
}

void Download::Ended() { Uncount(); }

void Download::Uncount() {
  if (std::exchange(counted_, false)) participant_->EndDownload();
}

void Download::OnReadDone(bool ok) {
  {
    std::scoped_lock lock(mutex_);
    if (opened_) return;  // the peer says no more, which is right
    if (!ok) return FinishLocked({grpc::StatusCode::CANCELLED, "the download was cut off"});
    opened_ = true;
    progress_ = Clock::now();
  }
  core_->bytes_received += incoming_.Length();
  Result<ReceivedFrame> frame = OpenFrame(incoming_);
  if (!frame) return Fault("malformed", frame.error().message);
  Open(*frame);
}

void Download::Open(const ReceivedFrame& frame) {
  v1::OpenDownload open;
  const std::string payload = frame.Payload();
  if (frame.header.kind != wire::FrameKind::kOpen ||
      !wire::CheckPayload(frame.header, std::as_bytes(std::span(payload))) ||
      !open.ParseFromString(payload)) {
    return Fault("malformed", "the first frame of a download must be OpenDownload");
  }
  participant_ = core_->participants.OfToken(open.token());
  if (!participant_ || !proof_.Allows(participant_->name)) {
    return Fault("token", "no conversation has this token: begin one first",
                 grpc::StatusCode::UNAUTHENTICATED);
  }
  SetName(participant_->name);
  counted_ = participant_->BeginDownload();
  if (!counted_) {
    return Fault("flood", Text("more than ", kMostDownloads, " downloads at a time"),
                 grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  ModelPtr model = participant_->Find(open.fingerprint());
  if (!model) {
    {
      std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    Uncount();
    return Write(EndFrame(false, Text("no model ", Hex(open.fingerprint()),
                                      " is offered to you any more: ask again")));
  }
  sender_.emplace(std::move(model), core_->options.settings.transfer);
  if (Result<void> placed = sender_->ResumeAt(open.offset()); !placed) {
    Uncount();
    return Fault("malformed", placed.error().message);
  }
  Next();
}

void Download::Next() {
  if (sender_->done()) {
    {
      std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    Uncount();
    return Write(EndFrame(true, ""));
  }
  if (core_->options.settings.transfer == wire::Encoding::kRaw) return Write(MakeChunk(*sender_));
  core_->workers.Post([self = Self()] { self->Write(MakeChunk(*self->sender_)); });
}

void Download::Write(grpc::ByteBuffer frame) {
  std::scoped_lock lock(mutex_);
  if (finished_) return;
  outgoing_.Swap(&frame);  // it has no move
  StartWrite(&outgoing_);
}

void Download::OnWriteDone(bool ok) {
  bool ended = false;
  {
    std::scoped_lock lock(mutex_);
    if (!ok) return FinishLocked({grpc::StatusCode::UNAVAILABLE, "the peer is gone"});
    progress_ = Clock::now();
    core_->bytes_sent += outgoing_.Length();
    outgoing_.Clear();
    ended = ended_;
  }
  if (!ended) return Next();
  if (sender_) participant_->Served(sender_->model()->Fingerprint());
  Fail(grpc::StatusCode::OK, "");
}

void Download::Sweep(Clock::time_point now) {
  {
    std::scoped_lock lock(mutex_);
    if (now - progress_ < core_->stalled) return;
    progress_ = now;
    DropLocked();
    if (finished_) return;
  }
  Audit("stalled", Text("a download made no progress for ", core_->options.settings.stalled,
                        " and is dropped; it can go on later"));
}

}  // namespace metis::rpc
