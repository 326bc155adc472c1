#include "metis/rpc/server_core.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "metis/core/enum_name.h"
#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {

// Syncing to disk waits for the disk, not for a core.
constexpr size_t kWorkers = 4;
// Rounded models kept for the next receiver; all of a round get the same one.
constexpr size_t kRounded = 4;
// Refusals written in a second; the rest is counted, so that a flood does not fill the disk.
constexpr uint32_t kAuditsASecond = 100;

// To which life a message is addressed; empty for what is no message.
std::optional<Incarnation> LifeOf(const federation::Action& action) {
  return std::visit(
      [](const auto& content) -> std::optional<Incarnation> {
        if constexpr (requires { content.incarnation; }) {
          return content.incarnation;
        } else if constexpr (requires { content.id.incarnation; }) {
          return content.id.incarnation;
        } else {
          return std::nullopt;
        }
      },
      action);
}

std::chrono::nanoseconds Chrono(Duration duration) {
  return std::chrono::nanoseconds(duration.nanoseconds());
}

}  // namespace

ServerCore::ServerCore(ControllerServerOptions chosen, drivers::ControllerHost& the_host,
                       ModelPool& the_pool)
    : options(std::move(chosen)),
      host(the_host),
      pool(the_pool),
      schema(wire::EncodeSchema(*the_pool.schema())),
      silence(4 * Chrono(options.heartbeat)),
      stalled(Chrono(options.settings.stalled)),
      budget(std::make_shared<ReceiveBudget>(options.settings.receive_budget_mb << 20)),
      workers(kWorkers),
      sender(1) {}

// --- Messages to participants

void ServerCore::Deliver(LearnerId to, const federation::Action& message) {
  AuditMessage(to, message);  // also of a life that is over: its updates may be replayed
  const ParticipantPtr participant = participants.OfId(to);
  if (!participant || LifeOf(message) != participant->incarnation) return;
  if (const auto* cancelled = std::get_if<federation::CancelEvaluation>(&message)) {
    participant->Cancel(cancelled->update);
  }
  const std::shared_ptr<Line> line = participant->line();
  if (!line) return;
  uint64_t fingerprint = 0;
  if (ModelPtr model = wire::ModelOf(message)) {
    model = Transferred(model);
    fingerprint = model->Fingerprint();
    participant->Offer(message, std::move(model));
  }
  Result<v1::ToParticipant> encoded = wire::EncodeAction(message, fingerprint);
  if (!encoded) return Say(encoded.error().message);  // no message to a participant
  bool news = false;
  if (std::holds_alternative<federation::Dismiss>(message)) {
    // Before a conversation that is just being dropped takes it back.
    std::scoped_lock lock(dismissed_mutex_);
    news = dismissed_.insert(to).second;
  }
  // Who heard it before has hung up, and that this one does not reach it says nothing: updates that
  // arrive after the end are answered with another.
  if (!line->Send(std::move(*encoded)) && news) MayNotHaveHeard(to);
}

void ServerCore::MayNotHaveHeard(LearnerId who) {
  std::scoped_lock lock(dismissed_mutex_);
  dismissed_.erase(who);
}

std::set<LearnerId> ServerCore::Dismissed() const {
  std::scoped_lock lock(dismissed_mutex_);
  return dismissed_;
}

ModelPtr ServerCore::Transferred(const ModelPtr& model) {
  if (options.settings.transfer != wire::Encoding::kHalf) return model;
  for (const Rounded& each : rounded_) {
    if (each.model.lock() == model) return each.transferred;
  }
  ModelPtr transferred = wire::AsTransferred(model, options.settings.transfer, pool);
  std::erase_if(rounded_, [](const Rounded& each) { return each.model.expired(); });
  if (rounded_.size() >= kRounded) rounded_.erase(rounded_.begin());
  rounded_.push_back({model, transferred});
  return transferred;
}

// --- Refusals

void ServerCore::AuditMessage(LearnerId to, const federation::Action& message) {
  if (const auto* join = std::get_if<federation::RefuseJoin>(&message)) {
    return RefuseKnown(to, "join", join->message);
  }
  const auto* rejected = std::get_if<federation::RejectUpdate>(&message);
  using federation::RejectReason;
  if (rejected == nullptr || rejected->reason == RejectReason::kLate ||
      rejected->reason == RejectReason::kFinished ||
      rejected->reason == RejectReason::kUnknownUpdate) {
    return;  // nobody's fault
  }
  const auto reason = NameOf(rejected->reason);
  RefuseKnown(to, std::string(reason), rejected->message);
}

void ServerCore::RefuseKnown(LearnerId who, const std::string& reason, const std::string& message) {
  const ParticipantPtr participant = participants.OfId(who);
  const std::shared_ptr<Line> line = participant ? participant->line() : nullptr;
  Refuse(line ? line->peer() : "", participant ? participant->name : Text("participant ", who),
         reason, message);
}

void ServerCore::Refuse(const std::string& peer, const std::string& name, const std::string& reason,
                        const std::string& message) {
  ++refusals;
  if (!options.audit) return;
  std::scoped_lock lock(audit_mutex_);
  const Clock::time_point now = Clock::now();
  if (now - audit_second_ >= std::chrono::seconds(1)) {
    if (unsaid_ > 0) {
      options.audit({"", "", "flood", Text(unsaid_, " more refusals were not written")});
    }
    audit_second_ = now;
    audits_ = 0;
    unsaid_ = 0;
  }
  if (++audits_ > kAuditsASecond) {
    ++unsaid_;
    return;
  }
  options.audit({peer, name, reason, message});
}

void ServerCore::Note(const std::string& peer, const std::string& name, const std::string& reason,
                      const std::string& message) {
  if (!options.audit) return;
  std::scoped_lock lock(audit_mutex_);
  options.audit({peer, name, reason, message});
}

void ServerCore::Say(const std::string& text) const {
  if (options.say) options.say(text);
}

// --- Who calls

ServerCore::Proof ServerCore::ProofOf(const grpc::CallbackServerContext& context) const {
  Proof proof;
  proof.local = context.peer().starts_with("unix:");
  proof.tls = options.credentials.has_value() && !proof.local;
  if (!proof.tls) return proof;
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  for (const grpc::string_ref& name : shown->FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    proof.names.emplace_back(name.data(), name.size());
  }
  for (const grpc::string_ref& pem : shown->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
    PeerFacts facts = ReadPeer({pem.data(), pem.size()});
    proof.serial = std::move(facts.serial);
    proof.roles = std::move(facts.roles);
  }
  const std::vector<std::string>& admins = options.settings.admins;
  proof.listed = std::any_of(proof.names.begin(), proof.names.end(), [&](const std::string& name) {
    return std::find(admins.begin(), admins.end(), name) != admins.end();
  });
  proof.denied = DenialOf(proof);
  return proof;
}

std::optional<Denial> ServerCore::DenialOf(const Proof& proof) const {
  if (options.authority == nullptr || !proof.tls) return std::nullopt;
  if (proof.serial.empty()) {
    return Denial{
        "certificate",
        "no certificate was shown, and everything but enrolling needs one: `metis learner "
        "--enrol TOKEN` gets it",
        grpc::StatusCode::UNAUTHENTICATED};
  }
  Result<bool> revoked = options.authority->IsRevoked(proof.serial);
  if (!revoked) {
    return Denial{"authority",
                  "whether the certificate was revoked can't be looked up now: try again later",
                  grpc::StatusCode::UNAVAILABLE};
  }
  if (!*revoked) return std::nullopt;
  return Denial{
      "revoked",
      Text("the certificate of ", proof.names.empty() ? "nobody" : proof.names.front(), " (serial ",
           proof.serial, ") was revoked: ask the federation's operator for a new invitation")};
}

// --- Streams under way

void ServerCore::Add(const std::shared_ptr<LiveStream>& stream) {
  std::scoped_lock lock(streams_mutex_);
  streams_.emplace(stream.get(), stream);
}

void ServerCore::Remove(const LiveStream* stream) {
  std::scoped_lock lock(streams_mutex_);
  streams_.erase(stream);
}

std::vector<std::shared_ptr<LiveStream>> ServerCore::Streams() const {
  std::vector<std::shared_ptr<LiveStream>> live;
  std::scoped_lock lock(streams_mutex_);
  for (const auto& [address, weak] : streams_) {
    if (std::shared_ptr<LiveStream> stream = weak.lock()) live.push_back(std::move(stream));
  }
  return live;
}

void ServerCore::Sweep() {
  const Clock::time_point now = Clock::now();
  for (const std::shared_ptr<LiveStream>& stream : Streams()) {
    stream->Sweep(now);
    const std::optional<Denial> denied = DenialOf(stream->proof());
    // Books that can't be read are no reason to end what was rightly begun.
    if (denied && denied->code != grpc::StatusCode::UNAVAILABLE) stream->Deny(*denied, now);
  }
  participants.Sweep(now);
  while (budget->waiting() && participants.DropOldestParked()) continue;
}

}  // namespace metis::rpc
