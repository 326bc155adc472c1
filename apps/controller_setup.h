// What a controller begins with: its configuration, its initial model, and the files of its run
// directory beside the record (docs/run-directory.md).
//
//   initial.metis   the model that the federation begins with, and what is known about it
//   federation      its name for ever, 16 hexadecimal digits; how it is recorded, a word
//   address         where the controller listens, while it does
//   control         the socket for operators, while the controller runs (apps/control_socket.h)
//   audit.jsonl     what was refused, to whom, and what operators did
//   state.db, blobs/  the state, while storage.durability is "full"
//   lock            held by the controller that runs
#pragma once

#include <string>

#include "apps/controller_run.h"
#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/store/model_file.h"

namespace metis::apps {

inline constexpr const char* kInitialFile = "initial.metis";
inline constexpr const char* kFederationFile = "federation";
inline constexpr const char* kAddressFile = "address";
inline constexpr const char* kAuditFile = "audit.jsonl";
inline constexpr const char* kStateFile = "state.db";
inline constexpr const char* kBlobsDirectory = "blobs";

struct ControllerSetup {
  config::Config config;
  store::ModelFile initial;
  bool goes_on = false;      // the directory holds the state of an earlier start
  bool accept_loss = false;  // also if that is older than the record
  std::string federation;    // its name: nobody else's, though its settings may be
  report::Record record = report::Record::kLight;

  // Learners are told this.
  std::string config_toml() const { return config::FormatConfig(config); }
  // Whose state it is: everything but how it is kept and reached.
  std::string identity() const;
};

// Of a new federation, or of the one that `options.run` holds.
Result<ControllerSetup> ReadSetup(const ControllerOptions& options);

// Writes what a later start needs to go on with a new run.
Result<void> WriteSetup(const ControllerSetup& setup, const std::string& run);

// Whether a controller ended there (a full disk) before it had written its federation's name: an
// empty record, and nothing but what else comes before.
bool NeverNamed(const std::string& run);

}  // namespace metis::apps
