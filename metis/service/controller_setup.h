// What a controller begins with: its configuration, its initial model and its name, of a new
// federation or of the one that its run directory holds. A value, read from files and written to
// them (report/controller_files.h), with the initial model in memory; without libtorch and without
// the network, for those who only look (`metis doctor`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/report/run_directory.h"
#include "metis/rpc/tls_options.h"
#include "metis/store/model_file.h"

namespace metis::service {

struct ControllerOptions {
  std::string file;  // configuration; empty: the run's own, or the defaults
  std::vector<config::Assignment> overrides;
  std::string model;  // the initial one; empty: the run's own, or that of the built-in data
  std::string run;    // directory
  std::optional<report::Record> record;  // none: the run's own, or light
  bool accept_loss = false;
  rpc::TlsOptions tls;
  std::string authority;  // directory of `metis ca init`; empty: certificates of the operator's own
};

struct ControllerSetup {
  config::Config config;
  store::ModelFile initial;
  bool goes_on = false;      // the directory holds the state of an earlier start
  bool accept_loss = false;  // also if that is older than the record
  std::string federation;    // its name: nobody else's, though its settings may be
  report::Record record = report::Record::kLight;

  // Learners are told this.
  std::string config_toml() const { return config::FormatConfig(config); }
  // Whose state it is: everything but how it is kept and reached. Keys that the program did not
  // have yet when the run began count only if they are not at their defaults.
  std::string identity() const;

  std::string begun_with = {};  // the configuration as the run's directory has it; empty: a new run
};

// Of a new federation, or of the one that `options.run` holds.
Result<ControllerSetup> ReadSetup(const ControllerOptions& options);

// An earlier start has brought the federation of this run directory to its end.
bool IsFinished(const std::string& run);

// Writes what a later start needs to go on with a new run.
Result<void> WriteSetup(const ControllerSetup& setup, const std::string& run);

// Whether a controller ended there (a full disk) before it had written its federation's name: an
// empty record, and nothing but what else comes before.
bool NeverNamed(const std::string& run);

}  // namespace metis::service
