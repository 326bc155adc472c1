#include "metis/experiment/plan.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "metis/core/text.h"
#include "metis/report/run_files.h"

namespace metis::experiment {
namespace {

namespace fs = std::filesystem;

// Of the cells of a table, those with a complete run below `directory` (OUT/TABLE/SCALE).
size_t CountDone(const TableSpec& table, const fs::path& directory) {
  size_t done = 0;
  for (const TableRow& row : table.rows) {
    for (const TableColumn& column : table.columns) {
      bool complete = false;
      std::error_code error;
      for (fs::directory_iterator i(directory / row.id / column.policy, error), end;
           !error && i != end; i.increment(error)) {
        complete = complete || IsComplete(ReadSummary(i->path().string()));
      }
      done += complete ? 1 : 0;
    }
  }
  return done;
}

}  // namespace

Result<std::vector<PlannedRun>> PlanTable(const TableSpec& table, const Selection& selection) {
  Result<std::vector<size_t>> rows = ChooseRows(table, selection.rows);
  if (!rows) return rows.error();
  Result<std::vector<size_t>> columns = ChooseColumns(table, selection.columns);
  if (!columns) return columns.error();
  Result<std::vector<ExperimentRun>> runs =
      PlanRuns(table, *rows, *columns, selection.seeds, selection.scale, selection.out);
  if (!runs) return runs.error();
  std::vector<PlannedRun> planned;
  std::vector<std::string> changed;
  for (ExperimentRun& run : *runs) {
    Found found = Inspect(run);
    if (found.state == RunState::kChanged) changed.push_back(found.difference);
    planned.push_back({std::move(run), std::move(found)});
  }
  if (!changed.empty()) return Invalid(Join(changed, "\n"));
  return planned;
}

std::vector<const PlannedRun*> ToDo(const std::vector<PlannedRun>& runs) {
  std::vector<const PlannedRun*> work;
  for (const PlannedRun& planned : runs) {
    if (planned.found.state != RunState::kDone) work.push_back(&planned);
  }
  return work;
}

std::vector<std::string> ArgumentsOf(const PlannedRun& planned, const CarrySettings& settings) {
  const uint32_t threads =
      settings.threads > 0 ? settings.threads
                           : std::max(1U, std::thread::hardware_concurrency() / settings.at_once);
  std::vector<std::string> arguments = planned.found.state == RunState::kBegun
                                           ? planned.run.ArgumentsToResume(threads)
                                           : planned.run.ArgumentsToBegin(threads);
  if (!settings.data_directory.empty()) {
    arguments.insert(arguments.end(), {"--data-dir", settings.data_directory});
  }
  return arguments;
}

Result<JobsOutcome> CarryOut(const TableSpec& table, const std::vector<const PlannedRun*>& work,
                             const CarrySettings& settings) {
  std::vector<Job> jobs;
  for (const PlannedRun* planned : work) {
    if (planned->found.state == RunState::kNew) {
      if (Result<void> written = WriteSettings(table, planned->run); !written) {
        return written.error();
      }
    }
    jobs.push_back({planned->run.name, ArgumentsOf(*planned, settings), planned->run.log()});
  }
  const auto ended = [&](size_t job, const JobEnd& end) {
    if (settings.ended) settings.ended(job, end);
    if (!end.begun) return;
    const Result<void> noted = AddWallTime(work[job]->run, end.wall_s);
    if (!noted && settings.unnoted) settings.unnoted(noted.error());
  };
  return RunJobs(jobs, {.program = settings.program,
                        .at_once = settings.at_once,
                        .progress = settings.progress,
                        .ended = ended});
}

Result<TableResult> Conclude(const TableSpec& table, const Scale& scale, const std::string& out,
                             const std::vector<const PlannedRun*>& work,
                             const JobsOutcome& outcome) {
  Result<TableResult> result = CollectResults(table, scale, out);
  if (!result) return result;
  for (size_t i = 0; i < work.size(); ++i) {
    const ExperimentRun& run = work[i]->run;
    const std::string& failure = outcome.ends[i].failure;
    if (failure.empty() || outcome.interrupted) continue;
    result->cells[run.row][run.column].failures.push_back(
        Text(run.name, ": ", failure, " (", run.log(), ")"));
  }
  return result;
}

std::vector<std::string> CellsDone(const TableSpec& table, const std::string& out) {
  std::set<fs::path> scales;
  std::error_code error;
  for (fs::directory_iterator i(Text(out, "/", table.name), error), end; !error && i != end;
       i.increment(error)) {
    if (i->is_directory()) scales.insert(i->path());
  }
  std::vector<std::string> done;
  const size_t cells = table.rows.size() * table.columns.size();
  for (const fs::path& scale : scales) {
    done.push_back(
        Text(scale.filename().string(), " ", CountDone(table, scale), " of ", cells, " cells"));
  }
  return done;
}

}  // namespace metis::experiment
