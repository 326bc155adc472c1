// One federation in virtual time, from its configuration to a finished run directory: what `metis
// simulate` does for each policy. A run keeps the work it does (work/journal.h) until it is
// complete, so that one that was interrupted or killed can go on. Blocks, for hours maybe; one
// process has a directory at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "metis/config/config.h"
#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/report/json_archive.h"

namespace metis::simulation {

struct RunOptions {
  std::string data_directory;
  bool names_data_directory = false;  // it is not the default: what is to be typed must name it
  uint32_t threads = 1;
  std::string record = "auto";  // or "replayable", "light"
  bool faults = false;          // injected as the seed says, every law checked
  bool replace = false;         // a run that the directory holds
  bool keep_work = true;        // until the run is complete
};

struct RunOutcome {
  report::Json summary;
  uint64_t examples = 0;  // trained by this process
  double seconds = 0;     // that this took on the wall's clock
  // Whether the run was interrupted and its work kept.
  bool resumable = false;
};

// Ends early, with what was reached, once `interrupted` is true.
Result<RunOutcome> RunSimulation(const RunOptions& options, const config::Config& config,
                                 const std::string& directory, Narrator& narrator,
                                 const std::atomic<bool>& interrupted);

// Goes on with a run that was interrupted or killed: the same bits as if it had not been. Of
// `options` the directory of data and the threads count; the rest is the run's. One that is
// complete stays as it is.
Result<RunOutcome> ResumeSimulation(const RunOptions& options, const std::string& directory,
                                    Narrator& narrator, const std::atomic<bool>& interrupted);

}  // namespace metis::simulation
