#include "metis/rpc/participant_client.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <utility>
#include <variant>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/drivers/event_loop.h"
#include "metis/rpc/backoff.h"
#include "metis/rpc/client_channel.h"
#include "metis/rpc/client_downloads.h"
#include "metis/rpc/client_greeting.h"
#include "metis/rpc/client_stream.h"
#include "metis/rpc/client_upload.h"
#include "metis/wire/messages.h"

namespace metis::rpc {
namespace {

constexpr int64_t kSilentHeartbeats = 4;  // without a word the conversation is dead
constexpr Duration kDialPatience = Duration::Seconds(20);

using Conversation = ClientStream<v1::FromParticipant, v1::ToParticipant>;

// A connection that brought a model, or the word that one has arrived.
bool DidItsWork(const federation::Action& action) {
  return wire::ModelOf(action) != nullptr ||
         std::holds_alternative<federation::AcknowledgeUpdate>(action);
}

}  // namespace

class ParticipantClient::Implementation {
 public:
  explicit Implementation(ParticipantClientOptions options);
  ~Implementation() { Close(Duration()); }

  // --- Any thread
  Result<void> AwaitWelcome(const std::stop_token& stop);
  const Welcome& welcome() const { return *welcome_; }
  bool connected() const { return connected_; }
  void Attach(drivers::ParticipantInbox& inbox, ModelPool& pool,
              std::function<void(const Error&)> gone);
  void SetHeartbeat(Duration heartbeat);
  void Send(federation::Event event);
  void Close(Duration grace);

 private:
  // --- On the loop
  void Dial();
  void Received(const v1::ToParticipant& message);
  void FirstWords(const v1::ToParticipant& message);
  void Welcomed(const v1::Welcome& message);
  void Heard(const v1::ToParticipant& message);
  void Ended(const grpc::Status& status);
  void Lost(const std::string& why, const std::string& how = "is away");
  void HangUp();
  void Gone(Error error);
  void Queue(v1::FromParticipant message);
  void Flush();
  void Tick();
  void TickLater();
  void SayFarewell();
  void End();
  Instant now() const { return loop_.now(); }

  // --- Constant
  const ParticipantClientOptions options_;

  // --- Synchronise themselves
  drivers::EventLoop loop_;
  OpenStreams streams_{loop_};
  std::atomic<bool> connected_ = false;
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Error> failed_;  // guarded by mutex_: before the first welcome
  bool ended_ = false;           // guarded by mutex_: nothing more is said
  // Set once by the loop, under mutex_; constant from then on.
  std::optional<Welcome> welcome_;

  // --- The loop's
  Duration heartbeat_;
  drivers::ParticipantInbox* inbox_ = nullptr;
  ModelPool* pool_ = nullptr;
  std::function<void(const Error&)> gone_;
  std::optional<Error> gone_error_;
  Backoff backoff_;
  TransferContext transfers_;
  ClientUpload upload_{transfers_};
  std::optional<ClientDownloads> downloads_;  // once the participant knows its id
  Connection connection_;
  std::shared_ptr<Conversation> conversation_;  // null between two
  bool welcomed_ = false;                       // in this conversation
  bool farewell_ = false;                       // after the outbox is empty, nothing more is said
  bool over_ = false;                           // never dials again
  std::deque<v1::FromParticipant> outbox_;
  Instant heard_;
  Instant beat_;
  Instant welcomed_at_;
  Instant redial_;
  Duration pause_;  // the latest one
};

ParticipantClient::Implementation::Implementation(ParticipantClientOptions options)
    : options_([&options] {
        if (!options.say) options.say = [](const std::string&) {};
        return std::move(options);
      }()),
      heartbeat_(options_.heartbeat),
      backoff_(options_.first_pause, options_.longest_pause, options_.name),
      transfers_{streams_,
                 options_.stalled,
                 options_.first_pause,
                 options_.longest_pause,
                 options_.name,
                 options_.say,
                 [this](federation::Action action) {
                   if (DidItsWork(action)) backoff_.Reset();
                   if (inbox_ != nullptr) inbox_->Receive(std::move(action));
                 }} {
  loop_.Post([this] {
    Dial();
    TickLater();
  });
  loop_.Start();
}

// --- From outside

Result<void> ParticipantClient::Implementation::AwaitWelcome(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [this] { return welcome_.has_value() || failed_.has_value(); });
  if (failed_) return *failed_;
  if (welcome_) return {};
  return Unavailable(
      Text("stopped before the controller at ", AddressOf(options_.controller), " was reached"));
}

void ParticipantClient::Implementation::Attach(drivers::ParticipantInbox& inbox, ModelPool& pool,
                                               std::function<void(const Error&)> gone) {
  loop_.Post([this, &inbox, &pool, gone = std::move(gone)] {
    inbox_ = &inbox;
    pool_ = &pool;
    downloads_->Attach(pool);
    gone_ = gone;
    if (gone_error_ && gone_) gone_(*gone_error_);
  });
}

void ParticipantClient::Implementation::SetHeartbeat(Duration heartbeat) {
  loop_.Post([this, heartbeat] { heartbeat_ = heartbeat; });
}

void ParticipantClient::Implementation::Send(federation::Event event) {
  loop_.Post([this, event = std::move(event)] {
    if (farewell_ || over_) return;
    if (const auto* update = std::get_if<federation::UpdateReceived>(&event)) {
      if (pool_ != nullptr) upload_.Send(*update, *pool_);
      return;
    }
    if (!welcomed_) return;  // dropped: whatever matters is said again
    Result<v1::FromParticipant> message = wire::EncodeEvent(event);
    if (message) return Queue(*std::move(message));
    options_.say(Text("a message can't be sent: ", message.error().message));
  });
}

void ParticipantClient::Implementation::Close(Duration grace) {
  METIS_CHECK(!loop_.on_loop());
  if (closed_.exchange(true)) return;
  loop_.Post([this] { SayFarewell(); });
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(grace.nanoseconds()),
                      [this] { return ended_; });
  }
  std::promise<void> ended;
  loop_.Post([this, &ended] {
    End();
    ended.set_value();
  });
  ended.get_future().wait();
  streams_.AwaitNone();
  loop_.Stop();
}

// --- The conversation

void ParticipantClient::Implementation::Dial() {
  connection_.channel = MakeChannel(options_.controller, options_.credentials);
  welcomed_ = false;
  heard_ = now();
  conversation_ =
      Conversation::Open(streams_, connection_.channel, "Converse",
                         {.received = [this](v1::ToParticipant& message) { Received(message); },
                          .written = [this] { Flush(); },
                          .done = [this](const grpc::Status& status) { Ended(status); }});
  conversation_->Write(MakeHello(options_));
}

void ParticipantClient::Implementation::Received(const v1::ToParticipant& message) {
  heard_ = now();
  welcomed_ ? Heard(message) : FirstWords(message);
}

void ParticipantClient::Implementation::FirstWords(const v1::ToParticipant& message) {
  if (message.has_welcome()) return Welcomed(message.welcome());
  if (message.refused().retry()) {
    return Lost(message.refused().message(), "does not take us now");
  }
  if (message.has_refused()) {
    return Gone(Invalid(Text("the controller at ", AddressOf(options_.controller), " refused \"",
                             options_.name, "\": ", message.refused().message())));
  }
  Lost("it did not begin with a welcome");
}

void ParticipantClient::Implementation::Welcomed(const v1::Welcome& message) {
  Result<Welcome> read = ReadWelcome(message);
  if (!read) return Gone(read.error().In("the controller's welcome"));
  if (welcome_) {
    Result<void> same = CheckSame(options_, *welcome_, *read);
    if (!same) return Gone(same.error());
  }
  welcomed_ = true;
  welcomed_at_ = beat_ = now();
  connection_.token = message.token();
  connection_.encoding = read->encoding;
  options_.say(Text("connected to ", AddressOf(options_.controller), " (", message.program(),
                    "), federation \"", read->federation, "\""));
  if (!downloads_) downloads_.emplace(transfers_, read->learner, options_.incarnation);
  connected_ = true;
  {
    std::scoped_lock lock(mutex_);
    if (!welcome_) welcome_ = *std::move(read);
  }
  changed_.notify_all();
  upload_.Connected(connection_);
  downloads_->Connected(connection_);
  if (inbox_ != nullptr) inbox_->Reconnected();
}

void ParticipantClient::Implementation::Heard(const v1::ToParticipant& message) {
  if (message.has_heartbeat()) return;
  if (message.has_cancel_evaluation()) downloads_->Cancel(message.cancel_evaluation().update());
  if (wire::OfferOf(message)) return downloads_->Want(message);
  Result<federation::Action> action =
      wire::DecodeAction(message, welcome_->learner, options_.incarnation, nullptr);
  if (!action) {
    options_.say(Text("a message of the controller can't be used: ", action.error().message));
    return;
  }
  if (const auto* accepted = std::get_if<federation::AcknowledgeUpdate>(&*action)) {
    upload_.Settled(accepted->id, true);
  }
  if (const auto* refused = std::get_if<federation::RejectUpdate>(&*action)) {
    upload_.Settled(refused->id, false);
  }
  transfers_.deliver(*std::move(action));
}

void ParticipantClient::Implementation::Ended(const grpc::Status& status) {
  // Later only this is meant for good: somebody revoked the certificate.
  const bool denied = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  const std::string hopeless = welcome_ && !denied ? std::string() : WhyHopeless(status);
  if (hopeless.empty()) return Lost(status.ok() ? "it hung up" : status.error_message());
  Gone(Invalid(Text("the controller at ", AddressOf(options_.controller),
                    welcome_ ? " has sent us away: " : " can't be joined: ", hopeless)));
}

void ParticipantClient::Implementation::HangUp() {
  connected_ = false;
  welcomed_ = false;
  outbox_.clear();
  upload_.Disconnected();
  if (downloads_) downloads_->Disconnected();
  if (conversation_) std::exchange(conversation_, nullptr)->Abandon();
}

void ParticipantClient::Implementation::Lost(const std::string& why, const std::string& how) {
  // One that breaks at once each time is no reason to begin with short pauses again; one that held
  // for a while is, however long the latest pause was. So is one that did its work.
  const Duration held_long = std::min(pause_, 10 * options_.first_pause);
  if (welcomed_ && now() - welcomed_at_ > held_long) backoff_.Reset();
  HangUp();
  if (farewell_) return End();
  pause_ = backoff_.Next();
  redial_ = now() + pause_;
  options_.say(Text("the controller at ", AddressOf(options_.controller), " ", how, " (", why,
                    "): dialling again in ", Fixed(pause_.seconds(), 1), " s"));
}

void ParticipantClient::Implementation::Gone(Error error) {
  End();
  {
    std::scoped_lock lock(mutex_);
    if (!welcome_) failed_ = error;
  }
  changed_.notify_all();
  gone_error_ = std::move(error);
  if (gone_) gone_(*gone_error_);
}

void ParticipantClient::Implementation::Queue(v1::FromParticipant message) {
  outbox_.push_back(std::move(message));
  Flush();
}

void ParticipantClient::Implementation::Flush() {
  if (!welcomed_ || !conversation_->can_write()) return;
  if (!outbox_.empty()) {
    conversation_->Write(std::move(outbox_.front()));
    outbox_.pop_front();
  } else if (farewell_) {
    conversation_->FinishWriting();  // the controller hangs up once it has read everything
  }
}

void ParticipantClient::Implementation::TickLater() {
  const Duration shortest = std::min({heartbeat_, options_.stalled, options_.first_pause});
  const Duration step = std::clamp(shortest / 4, Duration::Milliseconds(5), Duration::Seconds(1));
  loop_.At(now() + step, [this] {
    if (over_) return;
    Tick();
    TickLater();
  });
}

void ParticipantClient::Implementation::Tick() {
  if (!conversation_) {
    if (now() >= redial_) Dial();
    return;
  }
  const Duration silence = now() - heard_;
  const Duration patience = welcomed_ ? kSilentHeartbeats * heartbeat_ : kDialPatience;
  if (silence > patience) {
    return Lost(Text("nothing was heard of it for ", Fixed(silence.seconds(), 1), " s"));
  }
  if (!welcomed_) return;
  if (now() - beat_ >= heartbeat_ && !farewell_) {
    beat_ = now();
    v1::FromParticipant message;
    message.mutable_heartbeat();
    Queue(std::move(message));
  }
  upload_.Tick(now());
  downloads_->Tick(now());
}

void ParticipantClient::Implementation::SayFarewell() {
  farewell_ = true;
  upload_.Close();
  if (downloads_) downloads_->Close();
  if (!welcomed_) return End();
  Flush();
}

void ParticipantClient::Implementation::End() {
  over_ = true;
  HangUp();
  upload_.Close();
  if (downloads_) downloads_->Close();
  {
    std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

// --- The client

ParticipantClient::ParticipantClient(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

ParticipantClient::~ParticipantClient() = default;

Result<std::unique_ptr<ParticipantClient>> ParticipantClient::Connect(
    ParticipantClientOptions options, std::stop_token stop) {
  if (Result<void> good = CheckOptions(options); !good) return good.error();
  auto implementation = std::make_unique<Implementation>(std::move(options));
  if (Result<void> welcomed = implementation->AwaitWelcome(stop); !welcomed) {
    return welcomed.error();
  }
  return std::unique_ptr<ParticipantClient>(new ParticipantClient(std::move(implementation)));
}

const Welcome& ParticipantClient::welcome() const { return implementation_->welcome(); }

void ParticipantClient::Attach(drivers::ParticipantInbox& inbox, ModelPool& pool,
                               std::function<void(const Error&)> gone) {
  implementation_->Attach(inbox, pool, std::move(gone));
}

void ParticipantClient::SetHeartbeat(Duration heartbeat) {
  implementation_->SetHeartbeat(heartbeat);
}

void ParticipantClient::Send(federation::Event event) { implementation_->Send(std::move(event)); }

bool ParticipantClient::connected() const { return implementation_->connected(); }

void ParticipantClient::Close(Duration grace) { implementation_->Close(grace); }

}  // namespace metis::rpc
