// What learners and observers on the network have in common: where they join, who they are, which
// life of theirs this is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/console.h"
#include "apps/interrupts.h"
#include "apps/tls_options.h"
#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/rpc/participant_client.h"
#include "metis/store/posix_file.h"

namespace CLI {
class App;
}

namespace metis::apps {

struct ParticipantOptions {
  std::string join;   // HOST:PORT
  std::string name;   // empty: the certificate's
  std::string state;  // directory; empty: one of the user's, by name and controller
  std::string enrol;  // a token of `metis ca invite`
  rpc::TlsOptions tls;
};

void AddParticipantOptions(CLI::App& app, ParticipantOptions& options);

// Nothing says where the controller is: neither itself, nor an invitation, nor an earlier
// enrolment.
bool MissesController(const ParticipantOptions& options, federation::Role role);

// Numbers the lives of a participant. A file of the state directory says the latest; it is locked
// while this lives, so that nobody is in a federation twice.
class Lives {
 public:
  // Creates the directory. Fails where another process has it.
  static Result<std::unique_ptr<Lives>> Open(const std::string& directory);

  // One more than the latest, at least `now_s` (seconds of the calendar, so that a lost file does
  // no harm). Durable when this returns.
  Result<Incarnation> Begin(uint32_t now_s);

 private:
  Lives(std::string path, store::ProcessLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const store::ProcessLock lock_;
};

// A participant that was welcomed.
struct Joined {
  std::unique_ptr<Lives> lives;
  std::string name;
  Incarnation incarnation;
  config::Config config;  // the federation's
  std::unique_ptr<rpc::ParticipantClient> client;
};

// Dials until the controller welcomes it. An error where that is of no use, or Ctrl-C came.
Result<Joined> JoinFederation(const ParticipantOptions& options, federation::Role role,
                              Console& console, const Interrupts& interrupts);

// Which tensors differ, in words; empty if none do.
std::string SchemaDifference(const ModelSchema& federation, const ModelSchema& own);

}  // namespace metis::apps
