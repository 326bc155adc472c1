#include "apps/experiment_commands.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apps/cli.h"
#include "apps/experiment_view.h"
#include "apps/progress.h"
#include "apps/siblings.h"
#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/experiment/cache_figure.h"
#include "metis/experiment/plan.h"
#include "metis/machine/memory.h"

namespace metis::apps {
namespace {

namespace fs = std::filesystem;
using experiment::CarrySettings;
using experiment::JobEnd;
using experiment::JobsOutcome;
using experiment::PlannedRun;
using experiment::TableSpec;

// The directory of the tables.
std::string ExperimentsDirectory(const ExperimentOptions& options) {
  if (!options.experiments.empty()) return options.experiments;
  std::error_code error;
  if (fs::is_directory("experiments", error)) return "experiments";
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path installed = self.parent_path().parent_path() / "share/metis/experiments";
  return !error && fs::is_directory(installed, error) ? installed.string() : "experiments";
}

Result<TableSpec> FindTable(const ExperimentOptions& options) {
  return experiment::FindTable(ExperimentsDirectory(options), options.table, {"cache"});
}

CarrySettings SettingsOf(const ExperimentOptions& options) {
  return {.program = "",
          .at_once = options.jobs,
          .threads = options.threads,
          .data_directory = options.data_directory};
}

std::string Quoted(const std::string& word) {
  const bool plain = word.find_first_of(" \t\"'\\$&|;<>()*?[]#~`!{}") == word.npos;
  return plain && !word.empty() ? word : Text("'", word, "'");
}

// What would be done, as commands.
int DryRun(const std::vector<PlannedRun>& runs, const ExperimentOptions& options) {
  double images = 0;
  size_t unbounded = 0;
  for (const PlannedRun& planned : runs) {
    if (planned.found.state == experiment::RunState::kDone) {
      std::cout << "# done: " << planned.run.name << "\n";
      continue;
    }
    std::cout << "metis simulate";
    for (const std::string& word : ArgumentsOf(planned, SettingsOf(options))) {
      std::cout << " " << Quoted(word);
    }
    std::cout << "\n";
    std::optional<double> most = experiment::MostImages(planned.run.config);
    images += most.value_or(0);
    unbounded += most ? 0 : 1;
  }
  const size_t to_do = ToDo(runs).size();
  std::cout << "# " << to_do << " of " << runs.size() << " runs to do";
  if (to_do > unbounded) {
    std::cout << "; they train on at most " << Grouped(static_cast<uint64_t>(images)) << " images";
    if (unbounded > 0) std::cout << " (without " << unbounded << " that nothing bounds beforehand)";
  }
  std::cout << "\n";
  return Finish();
}

// Says how the runs of a table get on: a bar on a terminal, else a line for each that ended.
class Account {
 public:
  Account(std::string label, const std::vector<const PlannedRun*>& work, uint32_t at_once)
      : work_(work), at_once_(at_once) {
    if (::isatty(STDERR_FILENO) != 0) bar_ = std::make_unique<Progress>(std::move(label));
  }

  void Ended(size_t run, const JobEnd& end) {
    if (end.begun) {
      ++counted_;
      wall_s_ += end.wall_s;
    }
    if (bar_) return;
    std::cerr << work_[run]->run.name << ": "
              << (end.failure.empty() ? Text("done in ", FormatSeconds(end.wall_s)) : end.failure)
              << std::endl;
  }

  void Tick(size_t ended, size_t running) {
    if (!bar_) return;
    std::string left;
    if (counted_ > 0) {
      const double each = wall_s_ / static_cast<double>(counted_);
      const double rest = each * static_cast<double>(work_.size() - ended) / at_once_;
      left = Text(", about ", FormatSeconds(rest), " left");
    }
    bar_->Update(static_cast<double>(ended) / static_cast<double>(work_.size()),
                 Text(ended, " of ", work_.size(), " runs, ", running, " running", left));
  }

 private:
  const std::vector<const PlannedRun*>& work_;
  const uint32_t at_once_;
  std::unique_ptr<Progress> bar_;
  size_t counted_ = 0;
  double wall_s_ = 0;
};

Result<JobsOutcome> Carry(const std::string& program, const TableSpec& table,
                          const std::vector<const PlannedRun*>& work,
                          const ExperimentOptions& options) {
  Account account(options.table, work, options.jobs);
  CarrySettings settings = SettingsOf(options);
  settings.program = program;
  settings.progress = [&](size_t ended, size_t running) { account.Tick(ended, running); };
  settings.ended = [&](size_t run, const JobEnd& end) { account.Ended(run, end); };
  settings.unnoted = [](const Error& error) { Complain(error.message); };
  return CarryOut(table, work, settings);
}

// The table of all that is there, printed and written.
Result<void> Conclude(const TableSpec& table, const ExperimentOptions& options,
                      const std::vector<const PlannedRun*>& work, const JobsOutcome& outcome) {
  Result<experiment::TableResult> result =
      experiment::Conclude(table, options.scale, options.out, work, outcome);
  if (!result) return result.error();
  std::cout << FormatText(*result);
  const std::string directory = DirectoryOf(table, options.scale, options.out);
  Result<void> written = WriteTable(*result, options.out);
  if (!written) return written;
  std::cout << "\nWritten to " << directory << "/table.md, table.json and table.csv.\n"
            << "Curves and federation statistics: metis report " << directory << "\n";
  return {};
}

}  // namespace

int ListTables(const ExperimentOptions& options) {
  const std::string experiments = ExperimentsDirectory(options);
  Result<std::vector<std::string>> names = experiment::TableNames(experiments);
  if (!names) return Complain(names.error().message);
  for (const std::string& name : *names) {
    Result<TableSpec> table = experiment::ReadTableSpec(Text(experiments, "/", name));
    if (!table) return Complain(table.error().message);
    std::vector<std::string> rows;
    std::vector<std::string> columns;
    for (const experiment::TableRow& row : table->rows) rows.push_back(row.id);
    for (const experiment::TableColumn& column : table->columns) columns.push_back(column.policy);
    const std::vector<std::string> done = CellsDone(*table, options.out);
    std::cout << name << "\n  " << table->title << " (" << table->paper << ")\n  rows     "
              << Join(rows) << "\n  columns  " << Join(columns) << "\n  done     "
              << (done.empty() ? "nothing" : Join(done)) << "\n\n";
  }
  std::cout << "cache\n  The time of one community computation with and without the cache\n";
  return Finish();
}

int ShowTable(const ExperimentOptions& options) {
  Result<TableSpec> table = FindTable(options);
  if (!table) return Complain(table.error().message);
  Result<experiment::TableResult> result = CollectResults(*table, options.scale, options.out);
  if (!result) return Complain(result.error().message);
  switch (options.form) {
    case TableForm::kText:
      std::cout << FormatText(*result);
      break;
    case TableForm::kJson:
      std::cout << FormatJson(*result).dump(2) << "\n";
      break;
    case TableForm::kMarkdown:
      std::cout << FormatMarkdown(*result);
      break;
    case TableForm::kCsv:
      std::cout << FormatCsv(*result);
      break;
  }
  return Finish();
}

int ShowCell(const ExperimentOptions& options) {
  Result<TableSpec> table = FindTable(options);
  if (!table) return Complain(table.error().message);
  const Result<size_t> row = FindRow(*table, options.rows);
  if (!row) return Complain(row.error().message);
  const Result<size_t> column = FindColumn(*table, options.columns);
  if (!column) return Complain(column.error().message);
  const Result<experiment::ExperimentRun> run =
      PlanRun(*table, *row, *column, 0, options.scale, options.out);
  if (!run) return Complain(run.error().message);
  std::cout << FormatSettings(*table, *run);
  return Finish();
}

int RunTable(const ExperimentOptions& options) {
  Result<TableSpec> table = FindTable(options);
  if (!table) return Complain(table.error().message);
  Result<std::vector<PlannedRun>> runs = PlanTable(*table, {.rows = options.rows,
                                                            .columns = options.columns,
                                                            .seeds = options.seeds,
                                                            .scale = options.scale,
                                                            .out = options.out});
  if (!runs) return Complain(runs.error().message);
  if (options.dry_run) return DryRun(*runs, options);
  std::optional<Sibling> simulate = FindSibling("simulate");
  if (!simulate) {
    return Complain("metis-simulate is not beside metis-experiment, nor on PATH: install both");
  }
  const std::vector<const PlannedRun*> work = ToDo(*runs);
  const auto begun =
      static_cast<size_t>(std::count_if(work.begin(), work.end(), [](const PlannedRun* planned) {
        return planned->found.state == experiment::RunState::kBegun;
      }));
  std::cerr << options.table << ": " << runs->size() << " runs, " << runs->size() - work.size()
            << " done before and skipped, " << begun << " to go on with, " << work.size() - begun
            << " to begin" << std::endl;
  const Result<JobsOutcome> outcome = Carry(simulate->path, *table, work, options);
  if (!outcome) return Complain(outcome.error().message);
  if (Result<void> concluded = Conclude(*table, options, work, *outcome); !concluded) {
    return Complain(concluded.error().message);
  }
  if (outcome->interrupted) {
    return Finish(Complain("interrupted; the same command goes on where this one ended"));
  }
  const bool failed = std::any_of(outcome->ends.begin(), outcome->ends.end(),
                                  [](const JobEnd& end) { return !end.failure.empty(); });
  return Finish(failed ? kFailed : kOk);
}

int RunCacheFigure(const CacheOptions& options) {
  Result<std::vector<uint32_t>> learners = experiment::ParseLearners(options.learners);
  if (!learners) return Complain(learners.error().message, kUsage);
  std::optional<Sibling> program = FindSibling("model");
  if (!program) return Complain("metis-model is not beside metis-experiment, nor on PATH");
  const std::string directory = Text(options.out, "/cache");
  experiment::CacheFigure figure{.points = {}, .skipped = {}, .repetitions = options.repetitions};
  for (const std::string& name : experiment::SplitAtCommas(options.models)) {
    Result<ModelPtr> initial = experiment::MakeModel(program->path, name, directory);
    if (!initial) return Complain(initial.error().message);
    const uint64_t most = experiment::BytesNeeded((*initial)->size(), learners->back());
    std::cerr << name << ": " << Grouped((*initial)->size()) << " parameters, up to "
              << FormatBytes(most) << " of memory" << std::endl;
    if (options.dry_run) continue;
    const std::optional<machine::Memory> memory = machine::ReadMemory();
    const uint64_t available = memory ? memory->free : UINT64_MAX;
    Result<void> measured =
        MeasureCache(name, *initial, *learners, options.repetitions, available, figure);
    if (!measured) return Complain(measured.error().message);
  }
  if (options.dry_run) return Finish();
  std::cout << FormatText(figure);
  if (figure.points.empty()) return Complain("nothing fits into the free memory");
  if (Result<void> written = WriteFigure(figure, directory); !written) {
    return Complain(written.error().message);
  }
  std::cout << "\nWritten to " << directory << "/cache.svg, cache.json and cache.csv.\n";
  return Finish();
}

}  // namespace metis::apps
