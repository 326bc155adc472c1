// The runs of a table that somebody asks for: planned, carried out as child processes of
// metis-simulate, and concluded with the table of all that is there. What was done before is not
// done again. One thread.
//
//   Result<std::vector<PlannedRun>> runs = PlanTable(table, {.rows = "powerlaw", .out = "runs"});
//   std::vector<const PlannedRun*> work = ToDo(*runs);
//   Result<JobsOutcome> outcome = CarryOut(table, work, {.program = "/usr/bin/metis-simulate"});
//   Result<TableResult> result = Conclude(table, {}, "runs", work, *outcome);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/experiment/jobs.h"
#include "metis/experiment/results.h"
#include "metis/experiment/runs.h"
#include "metis/experiment/scale.h"
#include "metis/experiment/table_spec.h"

namespace metis::experiment {

// What is asked for: `rows` and `columns` as of ChooseRows() and ChooseColumns().
struct Selection {
  std::string rows = {};
  std::string columns = {};
  uint64_t seeds = 1;
  Scale scale = {};
  std::string out;
};

struct PlannedRun {
  ExperimentRun run;
  Found found;
};

// Seed by seed. An error names every directory that holds something else than such a run.
Result<std::vector<PlannedRun>> PlanTable(const TableSpec& table, const Selection& selection);

// Those that are not done, in their order; borrowed.
std::vector<const PlannedRun*> ToDo(const std::vector<PlannedRun>& runs);

struct CarrySettings {
  std::string program;  // the path of metis-simulate
  uint32_t at_once = 1;
  uint32_t threads = 0;             // of each run; 0: the cores of this machine / at_once
  std::string data_directory = {};  // passed on, unless empty
  // As of JobsSettings; `run` is an index of what is carried out.
  std::function<void(size_t ended, size_t running)> progress = nullptr;
  std::function<void(size_t run, const JobEnd& end)> ended = nullptr;
  // Its time on the clock on the wall could not be noted.
  std::function<void(const Error& error)> unnoted = nullptr;
};

// What metis-simulate is given for the run: to begin it, or to go on with it.
std::vector<std::string> ArgumentsOf(const PlannedRun& planned, const CarrySettings& settings);

// Writes the configurations of runs that begin, then carries all out. An error before anything has
// begun: a configuration could not be written.
Result<JobsOutcome> CarryOut(const TableSpec& table, const std::vector<const PlannedRun*>& work,
                             const CarrySettings& settings);

// The table of all that is there, with the failures of what was carried out.
Result<TableResult> Conclude(const TableSpec& table, const Scale& scale, const std::string& out,
                             const std::vector<const PlannedRun*>& work,
                             const JobsOutcome& outcome);

// How many cells of a table have a complete run, for every scale that was run: "full 3 of 18
// cells".
std::vector<std::string> CellsDone(const TableSpec& table, const std::string& out);

}  // namespace metis::experiment
