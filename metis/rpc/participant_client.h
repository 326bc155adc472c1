// A participant's side of the network (docs/wire.md): keeps one conversation with the controller
// open, with heartbeats of its own, and moves models on streams of their own. When the controller
// is absent it dials again, with growing, jittered pauses, for as long as it lives; a transfer that
// was cut off goes on where it stopped.
//
// One loop thread decides everything. gRPC's callback API tells it what happened on the streams, so
// that no thread ever waits for the network, and every stream is watched for standing still.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/drivers/transport.h"
#include "metis/rpc/credentials.h"
#include "metis/wire/settings.h"

namespace metis::rpc {

struct ParticipantClientOptions {
  HostPort controller;
  std::optional<Credentials> credentials;  // none: plaintext, refused unless the host is loopback
  std::string name;                        // under TLS the certificate's
  Incarnation incarnation;
  federation::Role role = federation::Role::kLearner;
  std::string program;
  Duration heartbeat = Duration::Seconds(10);
  Duration first_pause = Duration::Milliseconds(500);  // before dialling again; doubles
  Duration longest_pause = Duration::Seconds(30);
  Duration stalled = Duration::Seconds(30);  // a transfer without progress is begun again
  // Any thread: "connected to ...", "the controller is away: ..., dialling again in 4 s".
  std::function<void(const std::string&)> say;
};

// What the controller says first.
struct Welcome {
  LearnerId learner;
  std::string federation;
  std::string config_toml;
  SchemaPtr schema;
  wire::Encoding encoding = wire::Encoding::kRaw;
};

class ParticipantClient final : public drivers::ParticipantTransport {
 public:
  // Dials until it is welcomed; an error where it is refused, where trying again is of no use
  // (wrong certificate, name), or `stop` was requested.
  static Result<std::unique_ptr<ParticipantClient>> Connect(ParticipantClientOptions options,
                                                            std::stop_token stop);
  ~ParticipantClient() override;

  const Welcome& welcome() const;
  // From now on messages are received, models with the pool's buffers. Both outlive Close().
  // `gone` is called (any thread, once) when there is no use in going on: refused after a
  // reconnect, another federation at the same address, another id.
  void Attach(drivers::ParticipantInbox& inbox, ModelPool& pool,
              std::function<void(const Error&)> gone);
  // From now on that often, as the federation's configuration wants it.
  void SetHeartbeat(Duration heartbeat);
  void Send(federation::Event event) override;
  bool connected() const;
  // Says what was handed over (a farewell), for at most `grace`, and ends. An update on its way is
  // dropped. Not from a callback.
  void Close(Duration grace);

 private:
  class Implementation;
  explicit ParticipantClient(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace metis::rpc
