#include "metis/rpc/client_downloads.h"

#include <algorithm>
#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {

constexpr size_t kAtOnce = 2;
constexpr size_t kMostWanted = 64;  // the controller holds no more for one participant
constexpr size_t kMostOrphans = 2;  // each may be as large as a model
constexpr uint32_t kMostSpoiled = 3;
// An offer is repeated by a controller, or over a connection, that does not know that it arrived.
constexpr Duration kKept = Duration::Seconds(10);

bool IsCommunity(const v1::ToParticipant& message) { return message.has_community(); }

// Two messages of which only the later one matters.
bool SameSubject(const v1::ToParticipant& a, const v1::ToParticipant& b) {
  if (a.content_case() != b.content_case()) return false;
  if (a.has_evaluate()) {
    const v1::UpdateId& x = a.evaluate().update();
    const v1::UpdateId& y = b.evaluate().update();
    return x.learner() == y.learner() && x.incarnation() == y.incarnation() &&
           x.sequence() == y.sequence();
  }
  if (a.has_test()) return a.test().version() == b.test().version();
  return a.has_community();  // a newer one replaces it, whatever its version
}

}  // namespace

bool ClientDownloads::Wanted::community() const {
  return std::any_of(messages.begin(), messages.end(), IsCommunity);
}

ClientDownloads::ClientDownloads(const TransferContext& context, LearnerId learner,
                                 Incarnation incarnation)
    : context_(context), learner_(learner), incarnation_(incarnation) {}

ClientDownloads::Place ClientDownloads::Find(const Wanted& wanted) {
  return std::find_if(wanted_.begin(), wanted_.end(),
                      [&](const Wanted& each) { return &each == &wanted; });
}

void ClientDownloads::Remove(Wanted& wanted) {
  if (wanted.stream) std::exchange(wanted.stream, nullptr)->Abandon();
  wanted_.erase(Find(wanted));
}

void ClientDownloads::Forget(const v1::ToParticipant& like, uint64_t except_model) {
  for (auto each = wanted_.begin(); each != wanted_.end();) {
    Wanted& wanted = *each++;
    std::erase_if(wanted.messages, [&](const auto& message) { return SameSubject(message, like); });
    if (wanted.messages.empty() && wanted.fingerprint != except_model) Remove(wanted);
  }
}

void ClientDownloads::Want(v1::ToParticipant message) {
  const std::optional<uint64_t> fingerprint = wire::OfferOf(message);
  METIS_CHECK(fingerprint.has_value());
  if (pool_ == nullptr) return;  // nobody listens yet
  Forget(message, *fingerprint);
  if (arrived_ && arrived_->Fingerprint() == *fingerprint) return Deliver(message, arrived_);
  for (Wanted& wanted : wanted_) {
    if (wanted.fingerprint != *fingerprint) continue;
    wanted.messages.push_back(std::move(message));
    wanted.offered_again = true;
    return Pump();
  }
  if (wanted_.size() == kMostWanted) Remove(wanted_.front());
  Wanted wanted{.fingerprint = *fingerprint,
                .messages = {},
                .partial = std::nullopt,
                .stream = nullptr,
                .backoff = Backoff(context_.first_pause, context_.longest_pause,
                                   Text(context_.name, "/", *fingerprint)),
                .progress = {},
                .due = {}};
  wanted.messages.push_back(std::move(message));
  for (auto orphan = orphans_.begin(); orphan != orphans_.end(); ++orphan) {
    if (orphan->fingerprint() != *fingerprint) continue;
    wanted.partial = std::move(*orphan);
    orphans_.erase(orphan);
    break;
  }
  wanted_.push_back(std::move(wanted));
  Pump();
}

void ClientDownloads::Cancel(const v1::UpdateId& evaluation) {
  v1::ToParticipant like;
  *like.mutable_evaluate()->mutable_update() = evaluation;
  Forget(like, 0);
  Pump();
}

void ClientDownloads::Connected(const Connection& connection) {
  if (encoding_ != connection.encoding) {  // what is there was begun in another one
    encoding_ = connection.encoding;
    orphans_.clear();
    for (Wanted& wanted : wanted_) wanted.partial.reset();
  }
  connection_ = connection;
  arrived_at_ = context_.streams.loop().now();  // it may be offered again now
  for (Wanted& wanted : wanted_) wanted.due = Instant();
  Pump();
}

void ClientDownloads::Disconnected() {
  connection_.reset();
  for (Wanted& wanted : wanted_) {
    if (wanted.stream) std::exchange(wanted.stream, nullptr)->Abandon();
  }
}

void ClientDownloads::Close() {
  Disconnected();
  wanted_.clear();
  orphans_.clear();
  arrived_.reset();
}

void ClientDownloads::Tick(Instant now) {
  if (now - arrived_at_ > kKept) arrived_.reset();
  if (!connection_) return;
  for (Wanted& wanted : wanted_) {
    if (wanted.stream && now - wanted.progress > context_.stalled) {
      TryAgain(wanted,
               Text("nothing came for ", Fixed((now - wanted.progress).seconds(), 1), " s"));
    }
  }
  Pump();
}

size_t ClientDownloads::active() const {
  return static_cast<size_t>(std::count_if(
      wanted_.begin(), wanted_.end(), [](const Wanted& each) { return each.stream != nullptr; }));
}

// A community model does not wait for evaluations: the latest of them makes room and goes on later.
void ClientDownloads::Pump() {
  if (!connection_) return;
  const Instant now = context_.streams.loop().now();
  const auto waits = [&](const Wanted& each) { return !each.stream && each.due <= now; };
  const auto first = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& each) {
    return waits(each) && each.community();
  });
  if (first != wanted_.end()) {
    if (active() == kAtOnce) {
      const auto last = std::find_if(wanted_.rbegin(), wanted_.rend(), [](const Wanted& each) {
        return each.stream && !each.community();
      });
      if (last != wanted_.rend()) std::exchange(last->stream, nullptr)->Abandon();
    }
    if (active() < kAtOnce) Begin(*first);
  }
  for (Wanted& wanted : wanted_) {
    if (active() >= kAtOnce) return;
    if (waits(wanted)) Begin(wanted);
  }
}

void ClientDownloads::Begin(Wanted& wanted) {
  if (!wanted.partial) wanted.partial.emplace(*pool_, encoding_, wanted.fingerprint);
  v1::OpenDownload open;
  open.set_token(connection_->token);
  open.set_fingerprint(wanted.fingerprint);
  open.set_offset(wanted.partial->offset());
  wanted.progress = context_.streams.loop().now();
  wanted.offered_again = false;
  wanted.stream = RawStream::Open(
      context_.streams, connection_->channel, "Download",
      {.received = [this, &wanted](grpc::ByteBuffer& buffer) { Received(wanted, buffer); },
       .written = [] {},
       .done =
           [this, &wanted](const grpc::Status& status) {
             TryAgain(wanted, status.ok() ? "it ended early" : status.error_message());
           }});
  wanted.stream->Write(MakeFrame(wire::FrameKind::kOpen, open.SerializeAsString()));
}

void ClientDownloads::Received(Wanted& wanted, grpc::ByteBuffer& buffer) {
  wanted.progress = context_.streams.loop().now();
  Result<ReceivedFrame> frame = OpenFrame(buffer);
  if (!frame) return TryAgain(wanted, frame.error().message);
  if (frame->header.kind == wire::FrameKind::kEnd) {
    Result<v1::TransferEnd> end = ReadEnd(*frame);
    return end ? Ended(wanted, *end) : TryAgain(wanted, end.error().message);
  }
  Result<void> added = wanted.partial->AddPieces(frame->header, frame->pieces);
  if (!added) return TryAgain(wanted, added.error().message);
  // One that is damaged again and again gets no further, and longer pauses.
  if (wanted.partial->offset() > wanted.furthest) wanted.backoff.Reset();
  wanted.furthest = std::max(wanted.furthest, wanted.partial->offset());
  if (wanted.partial->complete()) Complete(wanted);
}

void ClientDownloads::Ended(Wanted& wanted, const v1::TransferEnd& end) {
  if (end.ok() && wanted.partial->complete()) return Complete(wanted);
  // A refusal says nothing of an offer that came after the question.
  if (end.ok() || !end.final() || wanted.offered_again) {
    return TryAgain(wanted, end.ok() ? "it ended early" : end.message());
  }
  // The controller does not offer it any more; the participant asks again for what it still needs.
  if (wanted.partial->offset() > 0) {
    orphans_.push_back(*std::move(wanted.partial));
    if (orphans_.size() > kMostOrphans) orphans_.pop_front();
  }
  wanted.stream->Release();
  wanted.stream.reset();
  Remove(wanted);
  Pump();
}

void ClientDownloads::Complete(Wanted& wanted) {
  Result<ModelPtr> model = std::move(*wanted.partial).Take();
  wanted.partial.reset();
  if (!model) {
    if (++wanted.spoiled < kMostSpoiled) return TryAgain(wanted, model.error().message);
    context_.say(Text("gave up a model: ", model.error().message));
    Remove(wanted);
    return Pump();
  }
  std::exchange(wanted.stream, nullptr)->Release();
  const std::vector<v1::ToParticipant> messages = std::move(wanted.messages);
  Remove(wanted);
  arrived_ = *model;
  arrived_at_ = context_.streams.loop().now();
  for (const v1::ToParticipant& message : messages) Deliver(message, *model);
  Pump();
}

void ClientDownloads::Deliver(const v1::ToParticipant& message, const ModelPtr& model) {
  Result<federation::Action> action = wire::DecodeAction(message, learner_, incarnation_, model);
  if (action) {
    context_.deliver(*std::move(action));
  } else {
    context_.say(Text("a message of the controller can't be used: ", action.error().message));
  }
}

void ClientDownloads::TryAgain(Wanted& wanted, const std::string& why) {
  if (wanted.stream) std::exchange(wanted.stream, nullptr)->Abandon();
  const Duration pause = wanted.backoff.Next();
  wanted.due = context_.streams.loop().now() + pause;
  context_.say(Text("model ", Hex(wanted.fingerprint), " did not arrive (", why,
                    "): trying again in ", Fixed(pause.seconds(), 1), " s"));
}

}  // namespace metis::rpc
