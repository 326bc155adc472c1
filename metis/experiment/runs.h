// The runs of a table: each cell with each seed has a run directory of its own,
//
//   OUT/TABLE/SCALE/ROW/POLICY/seed-SEED         docs/run-directory.md
//   OUT/TABLE/SCALE/ROW/POLICY/seed-SEED.toml    its configuration, complete
//   OUT/TABLE/SCALE/ROW/POLICY/seed-SEED.log     what its program said
//   OUT/TABLE/SCALE/ROW/POLICY/seed-SEED.json    how long it took on the clock on the wall
//
// so that a run that is done is never done again, and one that was begun can go on. Values and free
// functions; one command at a time writes a run (the log is locked, child.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/experiment/scale.h"
#include "metis/experiment/table_spec.h"
#include "metis/report/json_archive.h"

namespace metis::experiment {

struct ExperimentRun {
  size_t row = 0;
  size_t column = 0;
  uint64_t seed = 0;
  std::string name;            // "uniform-iid/async-dvw, seed 1990"
  std::string directory;       // the run directory
  config::Config full = {};    // of the cell, but for the seed
  config::Config config = {};  // at its scale

  std::string settings() const { return directory + ".toml"; }
  std::string log() const { return directory + ".log"; }
  std::string times() const { return directory + ".json"; }
  // Of metis-simulate: to begin it, and to go on with it.
  std::vector<std::string> ArgumentsToBegin(uint32_t threads) const;
  std::vector<std::string> ArgumentsToResume(uint32_t threads) const;
};

// OUT/TABLE/SCALE
std::string DirectoryOf(const TableSpec& table, const Scale& scale, const std::string& out);

// The run of a cell with the seed `configured + offset`.
Result<ExperimentRun> PlanRun(const TableSpec& table, size_t row, size_t column, uint64_t offset,
                              const Scale& scale, const std::string& out);

// One of each cell with the first seed, then those with the next: a table is soon whole.
Result<std::vector<ExperimentRun>> PlanRuns(const TableSpec& table, const std::vector<size_t>& rows,
                                            const std::vector<size_t>& columns, uint64_t seeds,
                                            const Scale& scale, const std::string& out);

enum class RunState {
  kNew,      // nothing is there
  kBegun,    // it was interrupted or cut off
  kDone,     // its summary says that it is complete
  kChanged,  // what is there was configured otherwise, or is no run
};

struct Found {
  RunState state = RunState::kNew;
  std::string difference = {};  // of kChanged: what, and the way out
  report::Json summary = {};    // of kDone
  double wall_s = 0;            // spent on it so far
};

Found Inspect(const ExperimentRun& run);

// What summary.json in a run directory says; null where there is none.
report::Json ReadSummary(const std::string& directory);
bool IsComplete(const report::Json& summary);

// The configuration of the run as a file that `metis simulate` runs: it begins with a comment that
// says which cell of which table this is.
std::string FormatSettings(const TableSpec& table, const ExperimentRun& run);
// Writes it to settings().
Result<void> WriteSettings(const TableSpec& table, const ExperimentRun& run);

// Adds to what was spent on the run. A file that can't be written is an error.
Result<void> AddWallTime(const ExperimentRun& run, double seconds);

}  // namespace metis::experiment
