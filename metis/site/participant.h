// What learners and observers on the network have in common: where they join, who they are, which
// life of theirs this is. One process has a state directory at a time; joining blocks the thread
// that asks. Without libtorch.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "metis/config/config.h"
#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/rpc/participant_client.h"
#include "metis/rpc/tls_options.h"
#include "metis/site/enrolment.h"
#include "metis/store/posix_file.h"

namespace metis::site {

struct ParticipantOptions {
  std::string join;      // HOST:PORT
  std::string name;      // empty: the certificate's
  StateDirectory state;  // numbers its lives and holds what it enrolled with
  std::string enrol;     // a token of `metis ca invite`
  rpc::TlsOptions tls;
};

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

// Dials until the controller welcomes it: blocks. An error where that is of no use, or `stop` was
// requested. The client goes on telling the narrator.
Result<Joined> JoinFederation(const ParticipantOptions& options, federation::Role role,
                              Narrator& narrator, const std::stop_token& stop);

// Which tensors differ, in words; empty if none do.
std::string SchemaDifference(const ModelSchema& federation, const ModelSchema& own);

}  // namespace metis::site
