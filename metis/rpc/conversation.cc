#include "metis/rpc/conversation.h"

#include <utility>

#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {

// Messages of one participant that may wait for the controller's loop, which takes them in turn
// with everybody's: what a flood costs each of the others is this many of its messages.
constexpr uint32_t kMostUnhandled = 4;
// Messages that may wait for a peer to read them.
constexpr size_t kMostQueued = 1000;

std::string CannotJoin(uint32_t most) {
  return Text(most,
              " participants are connected, as many as network.max_connections allows: raise "
              "it, or try again later");
}

std::string OtherRole(const std::string& name, const std::vector<std::string>& roles,
                      federation::Role wanted) {
  const std::string_view word = wanted == federation::Role::kObserver ? "observer" : "learner";
  return Text("the certificate of \"", name, "\" is for the role ", metis::Join(roles), ", not ",
              word, ": `metis ca invite ", name, " --role ", word,
              "` makes an invitation for that");
}

}  // namespace

grpc::ServerBidiReactor<v1::FromParticipant, v1::ToParticipant>* Conversation::Start(
    CorePtr core, grpc::CallbackServerContext* context) {
  auto conversation = std::make_shared<Conversation>(std::move(core), context);
  conversation->Begin();
  return conversation.get();
}

Conversation::Conversation(CorePtr core, grpc::CallbackServerContext* context)
    : Stream(std::move(core), context), heard_(Clock::now()), written_(heard_) {
  ++core_->conversations;
}

std::shared_ptr<Conversation> Conversation::Self() {
  return std::static_pointer_cast<Conversation>(shared_from_this());
}

void Conversation::Ended() {
  --core_->conversations;
  ParticipantPtr participant;
  bool broke = false;
  {
    std::scoped_lock lock(mutex_);
    participant = participant_;
    broke = cancelled_;
  }
  if (!participant) return;
  participant->Disconnect(this);
  if (broke) core_->MayNotHaveHeard(participant->id);
}

// --- Reading

void Conversation::OnReadDone(bool ok) {
  if (!ok) return End(grpc::Status::OK);
  core_->bytes_received += incoming_.ByteSizeLong();
  {
    std::scoped_lock lock(mutex_);
    heard_ = Clock::now();
  }
  Hear();
}

void Conversation::Hear() {
  if (participant_) return Handle(incoming_);
  if (!incoming_.has_hello()) {
    return Fault("malformed", "the first message of a conversation must be Hello");
  }
  Greet(incoming_.hello());
}

void Conversation::Greet(const v1::Hello& hello) {
  hello_ = hello;
  SetName(hello_.name().substr(0, wire::kMaxNameBytes));
  const uint32_t most = core_->options.settings.max_connections;
  if (core_->closing) return Refuse("closing", "the controller is ending", true);
  if (core_->conversations > most) return Refuse("full", CannotJoin(most), true);
  Result<uint32_t> version =
      wire::NegotiateVersion(hello_.oldest_version(), hello_.newest_version());
  if (!version) return Refuse("version", version.error().message);
  if (Result<void> named = wire::CheckName(hello_.name()); !named) {
    return Refuse("name", named.error().message);
  }
  if (!proof_.Allows(hello_.name())) {
    return Refuse("name",
                  Text("\"", hello_.name(), "\" is not a name of the certificate, which says: ",
                       proof_.names.empty() ? "none" : metis::Join(proof_.names)));
  }
  Result<federation::Role> role = wire::DecodeRole(hello_.role());
  if (!role) return Fault("malformed", role.error().message);
  if (!proof_.MayBe(*role)) return Refuse("role", OtherRole(hello_.name(), proof_.roles, *role));
  core_->host.Identify(hello_.name(), [weak = std::weak_ptr(Self())](LearnerId id) {
    if (std::shared_ptr<Conversation> self = weak.lock()) self->Admit(id);
  });
}

// On the controller's loop.
void Conversation::Admit(LearnerId id) {
  {
    std::scoped_lock lock(mutex_);
    if (finished_) return;
  }
  const federation::Role role = wire::DecodeRole(hello_.role()).value();
  Result<ParticipantPtr> admitted =
      core_->participants.Admit(id, Incarnation(hello_.incarnation()), hello_.name(), role, Self());
  if (!admitted) return Refuse("stale-incarnation", admitted.error().message);
  bool over = false;
  {
    std::scoped_lock lock(mutex_);
    participant_ = *admitted;
    over = finished_;
  }
  if (over) return (*admitted)->Disconnect(this);  // it ended while it was admitted
  v1::ToParticipant message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_version(
      wire::NegotiateVersion(hello_.oldest_version(), hello_.newest_version()).value());
  welcome.set_learner(id.value());
  welcome.set_token((*admitted)->token);
  welcome.set_federation(core_->options.federation);
  welcome.set_config(core_->options.config_toml);
  *welcome.mutable_schema() = core_->schema;
  welcome.set_program(core_->options.program);
  welcome.set_encoding(wire::EncodeEncoding(core_->options.settings.transfer));
  Send(std::move(message));
  std::scoped_lock lock(mutex_);
  ReadLocked();
}

void Conversation::Refuse(const std::string& reason, const std::string& message, bool retry) {
  Audit(reason, message);
  v1::ToParticipant refused;
  refused.mutable_refused()->set_message(message);
  refused.mutable_refused()->set_retry(retry);
  Send(std::move(refused));
  End(grpc::Status::OK);
}

void Conversation::Handle(const v1::FromParticipant& message) {
  if (message.has_heartbeat()) {
    v1::ToParticipant answer;
    answer.mutable_heartbeat();
    Send(std::move(answer));
    return Pass(std::nullopt);
  }
  Result<federation::Event> event = wire::DecodeEvent(
      message, participant_->id, participant_->incarnation, participant_->name, participant_->role);
  if (!event) return Fault("malformed", event.error().message);
  participant_->Answered(*event);
  Pass(std::move(*event));
}

void Conversation::Pass(std::optional<federation::Event> event) {
  {
    std::scoped_lock lock(mutex_);
    ++unhandled_;
  }
  std::shared_ptr<void> ticket(nullptr, [weak = std::weak_ptr(Self())](void*) {
    if (std::shared_ptr<Conversation> self = weak.lock()) self->Handled();
  });
  core_->host.Receive({participant_->id, participant_->incarnation, std::move(event)},
                      std::move(ticket));
  std::scoped_lock lock(mutex_);
  if (unhandled_ < kMostUnhandled) {
    ReadLocked();
  } else {
    resting_ = true;
  }
}

void Conversation::Handled() {
  std::scoped_lock lock(mutex_);
  --unhandled_;
  if (std::exchange(resting_, false)) ReadLocked();
}

// --- Writing

bool Conversation::Send(v1::ToParticipant message) {
  {
    std::scoped_lock lock(mutex_);
    if (finished_ || end_ || dropped_) return false;
    if (queue_.size() < kMostQueued) {
      queue_.push_back(std::move(message));
      if (queue_.size() == 1) WriteLocked();
      return true;
    }
    dropped_ = true;
    DropLocked();
  }
  Audit("slow", Text("does not read: ", kMostQueued, " messages wait for it"));
  return false;
}

void Conversation::WriteLocked() {
  written_ = Clock::now();
  StartWrite(&queue_.front());
}

void Conversation::OnWriteDone(bool ok) {
  std::scoped_lock lock(mutex_);
  if (!ok) return FinishLocked({grpc::StatusCode::UNAVAILABLE, "the peer is gone"});
  core_->bytes_sent += queue_.front().ByteSizeLong();
  queue_.pop_front();
  if (finished_) return;
  if (!queue_.empty()) return WriteLocked();
  if (end_) FinishLocked(*end_);
}

void Conversation::End(grpc::Status status) {
  std::scoped_lock lock(mutex_);
  if (!end_) end_ = std::move(status);
  if (queue_.empty()) FinishLocked(*end_);
}

void Conversation::Hang(const std::string& why) { End({grpc::StatusCode::ABORTED, why}); }

bool Conversation::idle() {
  std::scoped_lock lock(mutex_);
  return queue_.empty() || finished_;
}

void Conversation::Sweep(Clock::time_point now) {
  std::string reason;
  {
    std::scoped_lock lock(mutex_);
    // While its messages wait for us, it is not the peer that is silent.
    const bool silent = !resting_ && now - heard_ >= core_->silence;
    const bool stuck = !queue_.empty() && now - written_ >= core_->silence;
    if (dropped_ || (!silent && !stuck)) return;
    dropped_ = true;
    if (!finished_) reason = silent ? "silent" : "slow";
    DropLocked();
  }
  if (reason.empty()) return;  // it had ended, and only its last words were stuck
  Audit(reason, Text(reason == "silent" ? "nothing came for " : "nothing could be written for ",
                     4 * core_->options.heartbeat, ": the conversation is dropped"));
}

}  // namespace metis::rpc
