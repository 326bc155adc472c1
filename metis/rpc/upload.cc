#include "metis/rpc/upload.h"

#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {

v1::TransferEnd Done() {
  v1::TransferEnd end;
  end.set_ok(true);
  return end;
}

v1::TransferEnd TryAgain(const std::string& message) {
  v1::TransferEnd end;
  end.set_message(message);
  return end;
}

v1::TransferEnd RefusedForGood(federation::RejectReason reason, const std::string& message) {
  v1::TransferEnd end = TryAgain(message);
  end.set_final(true);
  end.set_reason(static_cast<uint32_t>(reason));
  return end;
}

// A chunk that no model of this size has.
bool LiesBeyond(const wire::FrameHeader& header, uint64_t bytes) {
  return header.offset > bytes || header.decoded_length > bytes - header.offset;
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Upload::Start(
    CorePtr core, grpc::CallbackServerContext* context) {
  auto upload = std::make_shared<Upload>(std::move(core), context);
  upload->Begin();
  return upload.get();
}

Upload::Upload(CorePtr core, grpc::CallbackServerContext* context)
    : Stream(std::move(core), context), progress_(Clock::now()) {}

std::shared_ptr<Upload> Upload::Self() {
  return std::static_pointer_cast<Upload>(shared_from_this());
}

void Upload::Ended() {
  std::optional<PartialUpload> left;
  {
    std::scoped_lock lock(mutex_);
    if (state_ == State::kReceiving) left = std::move(partial_);
    state_ = State::kOver;
  }
  if (left) participant_->Park(this, std::move(*left));
}

std::optional<PartialUpload> Upload::Surrender() {
  std::scoped_lock lock(mutex_);
  const State state = std::exchange(state_, State::kOver);
  DropLocked();
  if (state != State::kReceiving) return std::nullopt;
  return std::move(partial_);
}

std::string Upload::WhereCutOff() {
  std::scoped_lock lock(mutex_);
  if (state_ != State::kReceiving) return "the upload was cut off";
  return Text("the upload was cut off after ", partial_.receiver->offset(), " of ",
              core_->pool.schema()->bytes(), " bytes");
}

void Upload::OnReadDone(bool ok) {
  if (!ok) return Fail(grpc::StatusCode::CANCELLED, WhereCutOff());
  core_->bytes_received += incoming_.Length();
  State state;
  {
    std::scoped_lock lock(mutex_);
    progress_ = Clock::now();
    state = state_;
  }
  const size_t most = state == State::kOpening ? wire::kMaxOpenBytes : wire::kMaxChunkBytes;
  if (incoming_.Length() > wire::kFrameHeaderBytes + most) {
    return Fault("oversize", Text("a frame of ", incoming_.Length(),
                                  " bytes: a payload of at most ", most, " is taken here"));
  }
  Result<ReceivedFrame> frame = OpenFrame(incoming_);
  incoming_.Clear();
  if (!frame) return Fault("malformed", frame.error().message);
  if (state == State::kOpening) return Open(*frame);
  if (core_->options.settings.transfer == wire::Encoding::kRaw) return Receive(*frame);
  core_->workers.Post([self = Self(), frame = std::make_shared<ReceivedFrame>(std::move(*frame))] {
    self->Receive(*frame);
  });
}

void Upload::Open(const ReceivedFrame& frame) {
  v1::OpenUpload open;
  const std::string payload = frame.Payload();
  if (frame.header.kind != wire::FrameKind::kOpen ||
      !wire::CheckPayload(frame.header, std::as_bytes(std::span(payload))) ||
      !open.ParseFromString(payload)) {
    return Fault("malformed", "the first frame of an upload must be OpenUpload");
  }
  participant_ = core_->participants.OfToken(open.token());
  if (!participant_ || !proof_.Allows(participant_->name)) {
    return Fault("token", "no conversation has this token: begin one first",
                 grpc::StatusCode::UNAUTHENTICATED);
  }
  SetName(participant_->name);
  if (open.encoding() != wire::EncodeEncoding(core_->options.settings.transfer)) {
    return Fault(
        "encoding",
        Text("encoding ", static_cast<int>(open.encoding()), " is not the one of the Welcome, ",
             static_cast<int>(wire::EncodeEncoding(core_->options.settings.transfer))));
  }
  Result<federation::UpdateReceived> update =
      wire::DecodeUpdate(open.update(), participant_->id, participant_->incarnation);
  if (!update) return Fault("malformed", update.error().message);
  update_ = std::move(*update);
  const ModelSchema& schema = *core_->pool.schema();
  if (open.schema_hash() != 0 && open.schema_hash() != schema.hash()) {
    const std::string words =
        Text("the model has schema ", Hex(open.schema_hash()), ", the federation's is ",
             Hex(schema.hash()), ": was it built for another run?");
    Audit("schema", words);
    return Conclude(RefusedForGood(federation::RejectReason::kSchema, words));
  }

  BeginReceiving({update_.id.sequence, open.fingerprint()});
}

void Upload::BeginReceiving(const UploadKey& key) {
  std::optional<PartialUpload> earlier = participant_->Claim(Self(), key);
  const ModelPtr known = earlier ? nullptr : participant_->FindArrived(key);
  {
    std::scoped_lock lock(mutex_);
    if (finished_ || state_ == State::kOver) return;
    partial_.key = key;
    if (earlier) {
      partial_ = std::move(*earlier);
      return ResumeLocked();
    }
    state_ = known ? State::kStoring : State::kWaiting;
  }
  if (known) {
    return BeginStoring([known](Upload& upload) { upload.Store(known); });
  }
  core_->budget->Acquire(core_->pool.schema()->bytes(),
                         [weak = std::weak_ptr(Self())](ReceiveBudget::Lease lease) {
                           if (auto self = weak.lock()) self->Granted(std::move(lease));
                         });
  while (core_->budget->waiting() && core_->participants.DropOldestParked()) continue;
}

void Upload::Granted(ReceiveBudget::Lease lease) {
  std::scoped_lock lock(mutex_);
  if (finished_ || state_ != State::kWaiting) return;
  partial_.receiver = std::make_unique<wire::ModelReceiver>(
      core_->pool, core_->options.settings.transfer, partial_.key.fingerprint);
  partial_.lease = std::move(lease);
  ResumeLocked();
}

void Upload::ResumeLocked() {
  state_ = State::kReceiving;
  progress_ = Clock::now();
  outgoing_ = MakeFrame(wire::FrameKind::kResume, "", partial_.receiver->offset());
  writing_ = true;
  StartWrite(&outgoing_);
  ReadLocked();
}

void Upload::Receive(const ReceivedFrame& frame) {
  Result<void> added;
  std::unique_ptr<wire::ModelReceiver> whole;
  UploadKey key;
  {
    std::scoped_lock lock(mutex_);
    if (finished_ || state_ != State::kReceiving) return;
    key = partial_.key;
    if (!partial_.receiver->complete()) {
      added = partial_.receiver->AddPieces(frame.header, frame.pieces);
    }
    if (added.ok()) {
      if (!partial_.receiver->complete()) return ReadLocked();
      state_ = State::kStoring;
      whole = std::move(partial_.receiver);
    }
  }
  if (!added.ok() && LiesBeyond(frame.header, core_->pool.schema()->bytes())) {
    Audit("oversize", added.error().message);
    return Conclude(RefusedForGood(federation::RejectReason::kSchema, added.error().message));
  }
  if (!added.ok()) {
    Audit("checksum", added.error().message);
    return Conclude(TryAgain(added.error().message));
  }
  auto shared = std::make_shared<std::unique_ptr<wire::ModelReceiver>>(std::move(whole));
  BeginStoring([key, shared](Upload& upload) { upload.Check(key, std::move(*shared)); });
}

void Upload::BeginStoring(std::function<void(Upload&)> work) {
  if (!participant_->BeginStoring()) {
    return Conclude(TryAgain("an update of yours is still being taken in"));
  }
  core_->workers.Post([self = Self(), work = std::move(work)] { work(*self); });
}

// On a worker: checking costs O(M), and keeping waits for the disk.
void Upload::Check(const UploadKey& key, std::unique_ptr<wire::ModelReceiver> receiver) {
  Result<ModelPtr> model = std::move(*receiver).Take();
  if (!model) {
    participant_->EndStoring();
    Audit("fingerprint", model.error().message);
    return Conclude(RefusedForGood(federation::RejectReason::kGate, model.error().message));
  }
  (*model)->Magnitude();
  participant_->Arrived(key, *model);
  Store(*model);
}

void Upload::Store(const ModelPtr& model) {
  if (core_->options.keep) {
    if (Result<void> kept = core_->options.keep(model); !kept) {
      participant_->EndStoring();
      core_->Say(Text("a model of ", participant_->name,
                      " cannot be kept, it is asked for again: ", kept.error().message));
      return Conclude(TryAgain(Text("the controller cannot keep it now: ", kept.error().message)));
    }
  }
  update_.model = model;
  // Its sender hears of the end once the loop has taken it: the next one waits until then.
  std::shared_ptr<void> ticket(nullptr, [self = Self()](void*) {
    self->participant_->EndStoring();
    self->Conclude(Done());
  });
  core_->host.Receive({participant_->id, participant_->incarnation, std::move(update_)},
                      std::move(ticket));
}

void Upload::Conclude(const v1::TransferEnd& end) {
  PartialUpload used;  // let go outside the lock
  std::optional<PartialUpload> left;
  {
    std::scoped_lock lock(mutex_);
    // What came before a bad chunk stays good; the receiver says how much that is.
    if (state_ == State::kReceiving)
      left = std::move(partial_);
    else
      used = std::move(partial_);
    state_ = State::kOver;
    if (!finished_) {
      last_ = MakeFrame(wire::FrameKind::kEnd, end.SerializeAsString());
      if (!writing_) {
        finished_ = true;
        StartWriteAndFinish(&*last_, grpc::WriteOptions(), grpc::Status::OK);
      }
    }
  }
  if (left) participant_->Park(this, std::move(*left));
}

void Upload::OnWriteDone(bool ok) {
  std::scoped_lock lock(mutex_);
  writing_ = false;
  if (!ok) return FinishLocked({grpc::StatusCode::UNAVAILABLE, "the peer is gone"});
  if (!last_ || finished_) return;
  finished_ = true;
  StartWriteAndFinish(&*last_, grpc::WriteOptions(), grpc::Status::OK);
}

void Upload::Sweep(Clock::time_point now) {
  {
    std::scoped_lock lock(mutex_);
    const bool ours = state_ == State::kWaiting || state_ == State::kStoring;
    if (ours || now - progress_ < core_->stalled) return;
    progress_ = now;
    DropLocked();
    if (finished_) return;
  }
  Audit("stalled", Text("an upload made no progress for ", core_->options.settings.stalled,
                        " and is dropped; it can go on later"));
}

}  // namespace metis::rpc
