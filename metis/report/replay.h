// Passes a recorded run's events through the controller again, and compares every note that it
// makes with the recorded one, its time with its event's, the final state and version with the
// summary's, and the community model with its definition, computed from the learners' latest
// models. Times of events must not go back.
#pragma once

#include <cstdint>
#include <string>

#include "metis/core/result.h"
#include "metis/federation/settings.h"
#include "metis/report/run_directory.h"

namespace metis::report {

struct Replayed {
  uint64_t events = 0;
  uint64_t notes = 0;
  uint64_t version = 0;
  std::string state_hash;
  bool against_summary = false;  // the run had a summary to compare its end with
  bool recomputed = false;       // the community model equals its definition (FedAsync has none)
};

// `settings` are those of the run's config.toml. An error names the first line that differs.
Result<Replayed> Replay(RunReader& run, const federation::Settings& settings);

}  // namespace metis::report
