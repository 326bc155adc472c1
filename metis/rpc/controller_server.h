// The controller's side of the network (docs/wire.md): a gRPC server that knows who is connected,
// receives models, and offers them. All of it on gRPC's threads and a few workers; the controller's
// loop is told of whole, checked events only.
//
// Bounds: one upload in flight for each participant, a byte budget for all, sizes of messages and
// headers, no stream without progress, a number of connections. Nothing that a peer sends stops it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/drivers/controller_host.h"
#include "metis/drivers/transport.h"
#include "metis/rpc/certificate_authority.h"
#include "metis/rpc/credentials.h"
#include "metis/rpc/settings.h"

namespace metis::rpc {

// One line of the audit log: what was refused, or what was granted that matters as much
// ("enrolled", "command", "export").
struct Refusal {
  std::string peer;    // address
  std::string name;    // who it says it is; may be empty
  std::string reason;  // a word: "name", "stale-incarnation", "schema", "checksum", "oversize", ...
  std::string message;
};

// A community model for an operator, and what is known about it.
struct ExportedModel {
  ModelPtr model;
  std::string facts_json;
  std::string schema_json;
};

// What only the server's owner knows of what an operator asks (proto/metis/v1/operations.proto).
// Called by any thread; none may wait.
struct OperatorHooks {
  std::function<std::string()> status;  // the document of metis/operations/status.h
  // The latest, or the best tested; the answer may come later, from any thread.
  std::function<void(bool best, std::function<void(Result<ExportedModel>)> answer)> export_model;
};

struct ControllerServerOptions {
  NetworkSettings settings;
  std::optional<Credentials> credentials;  // none: plaintext, refused unless `listen` is loopback
  // Signs certificates for those who are invited, and says who was revoked; outlives the server.
  // With it a caller without a certificate may enrol, and nothing else; null: nobody comes without.
  CertificateAuthority* authority = nullptr;
  std::string federation;   // its name for ever
  std::string config_toml;  // what learners are told
  std::string program;
  Duration heartbeat;  // how often a participant speaks at least
  // A Unix socket for operators, which nobody but this user may open: its path. Empty: none.
  std::string control = {};
  OperatorHooks operators = {};
  // Makes a received model durable before its event reaches the loop; called by workers, several at
  // once. Null: nothing is kept.
  std::function<Result<void>(const ModelPtr&)> keep;
  // Any thread, one call at a time.
  std::function<void(const Refusal&)> audit;
  // Any thread: something to tell the operator ("at most 1024 files may be open ...").
  std::function<void(const std::string&)> say = nullptr;
  // Called once, from a thread of the server, when it hears nobody new any more and cannot help it
  // (gRPC stops accepting for ever once file descriptors ran out): end, for a supervisor to start
  // the program again. It must not wait for the server's own end.
  std::function<void()> on_deaf = nullptr;
};

struct Traffic {
  uint64_t bytes_received = 0;  // of models and control, as they travelled
  uint64_t bytes_sent = 0;
  uint32_t connected = 0;
  uint64_t refusals = 0;  // audited or not
};

class ControllerServer final : public drivers::ControllerTransport {
 public:
  // Listens when it returns. Host and pool outlive it.
  static Result<std::unique_ptr<ControllerServer>> Start(ControllerServerOptions options,
                                                         drivers::ControllerHost& host,
                                                         ModelPool& pool);
  ~ControllerServer() override;

  uint16_t port() const;
  // False once it is deaf.
  bool accepting() const;
  void Send(LearnerId to, const federation::Action& message) override;
  void Refused(LearnerId who, const std::string& reason, const std::string& message) override;
  Traffic traffic() const;
  // Who is connected, from which address.
  std::map<LearnerId, std::string> Connections() const;
  // Participants to which a Dismiss was sent, and whose conversation did not break since: who is
  // away does not know yet that it is over.
  std::set<LearnerId> dismissed() const;
  // Ends all streams; messages already handed over are sent for at most `grace`.
  void Shutdown(Duration grace);

 private:
  class Service;
  explicit ControllerServer(std::unique_ptr<Service> service);
  std::unique_ptr<Service> service_;
};

}  // namespace metis::rpc
