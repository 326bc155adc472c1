#include "apps/experiment/run_table.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "apps/cli.h"
#include "apps/experiment/jobs.h"
#include "apps/experiment/results.h"
#include "apps/experiment/runs.h"
#include "apps/progress.h"
#include "apps/siblings.h"
#include "apps/table.h"
#include "metis/config/suggest.h"
#include "metis/core/display.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

namespace fs = std::filesystem;

struct Planned {
  ExperimentRun run;
  Found found;
};

Result<TableSpec> FindTable(const ExperimentOptions& options) {
  const std::string experiments = ExperimentsDirectory(options);
  Result<std::vector<std::string>> names = TableNames(experiments);
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), options.table) == names->end()) {
    names->push_back("cache");
    return Invalid(Text("there is no table \"", options.table, "\" in ", experiments,
                        config::DidYouMean(": ", options.table, *names), " (tables: ", Join(*names),
                        ")"));
  }
  return ReadTableSpec(Text(experiments, "/", options.table));
}

// Every run that is asked for, and what is there of it; an error if something else is.
Result<std::vector<Planned>> Plan(const TableSpec& table, const ExperimentOptions& options) {
  Result<std::vector<size_t>> rows = ChooseRows(table, options.rows);
  if (!rows) return rows.error();
  Result<std::vector<size_t>> columns = ChooseColumns(table, options.columns);
  if (!columns) return columns.error();
  Result<std::vector<ExperimentRun>> runs =
      PlanRuns(table, *rows, *columns, options.seeds, options.scale, options.out);
  if (!runs) return runs.error();
  std::vector<Planned> planned;
  std::vector<std::string> changed;
  for (ExperimentRun& run : *runs) {
    Found found = Inspect(run);
    if (found.state == RunState::kChanged) changed.push_back(found.difference);
    planned.push_back({std::move(run), std::move(found)});
  }
  if (!changed.empty()) return Invalid(Join(changed, "\n"));
  return planned;
}

uint32_t ThreadsOfARun(const ExperimentOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1U, std::thread::hardware_concurrency() / options.jobs);
}

std::vector<std::string> ArgumentsOf(const Planned& planned, const ExperimentOptions& options) {
  const uint32_t threads = ThreadsOfARun(options);
  std::vector<std::string> arguments = planned.found.state == RunState::kBegun
                                           ? planned.run.ArgumentsToResume(threads)
                                           : planned.run.ArgumentsToBegin(threads);
  if (!options.data_directory.empty()) {
    arguments.insert(arguments.end(), {"--data-dir", options.data_directory});
  }
  return arguments;
}

std::string Quoted(const std::string& word) {
  const bool plain = word.find_first_of(" \t\"'\\$&|;<>()*?[]#~`!{}") == word.npos;
  return plain && !word.empty() ? word : Text("'", word, "'");
}

// What would be done, as commands.
int DryRun(const std::vector<Planned>& planned, const ExperimentOptions& options) {
  double images = 0;
  size_t unbounded = 0;
  size_t to_do = 0;
  for (const Planned& p : planned) {
    if (p.found.state == RunState::kDone) {
      std::cout << "# done: " << p.run.name << "\n";
      continue;
    }
    ++to_do;
    std::cout << "metis simulate";
    for (const std::string& word : ArgumentsOf(p, options)) std::cout << " " << Quoted(word);
    std::cout << "\n";
    std::optional<double> most = MostImages(p.run.config);
    images += most.value_or(0);
    unbounded += most ? 0 : 1;
  }
  std::cout << "# " << to_do << " of " << planned.size() << " runs to do";
  if (to_do > unbounded) {
    std::cout << "; they train on at most " << WithCommas(static_cast<uint64_t>(images))
              << " images";
    if (unbounded > 0) std::cout << " (without " << unbounded << " that nothing bounds beforehand)";
  }
  std::cout << "\n";
  return Finish();
}

// Says how far the command is: a bar on a terminal, a line for each run elsewhere.
class Account {
 public:
  Account(std::string label, const std::vector<const Planned*>& work, uint32_t at_once)
      : work_(work), at_once_(at_once) {
    if (::isatty(STDERR_FILENO) != 0) bar_ = std::make_unique<Progress>(std::move(label));
  }

  void Ended(size_t job, const JobEnd& end) {
    if (end.begun) {
      ++counted_;
      wall_s_ += end.wall_s;
    }
    if (bar_) return;
    std::cerr << work_[job]->run.name << ": "
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
  const std::vector<const Planned*>& work_;
  const uint32_t at_once_;
  std::unique_ptr<Progress> bar_;
  size_t counted_ = 0;
  double wall_s_ = 0;
};

JobsOutcome Carry(const std::string& program, const std::vector<const Planned*>& work,
                  const ExperimentOptions& options) {
  std::vector<Job> jobs;
  for (const Planned* p : work) {
    jobs.push_back({p->run.name, ArgumentsOf(*p, options), p->run.log()});
  }
  Account account(options.table, work, options.jobs);
  auto ended = [&](size_t job, const JobEnd& end) {
    account.Ended(job, end);
    if (!end.begun) return;
    if (Result<void> noted = AddWallTime(work[job]->run, end.wall_s); !noted) {
      Complain(noted.error().message);
    }
  };
  return RunJobs(jobs, {.program = program,
                        .at_once = options.jobs,
                        .progress = [&](size_t n, size_t m) { account.Tick(n, m); },
                        .ended = ended});
}

// The table of all that is there, with this command's failures; printed and written.
Result<void> Conclude(const TableSpec& table, const ExperimentOptions& options,
                      const std::vector<const Planned*>& work, const JobsOutcome& outcome) {
  Result<TableResult> result = CollectResults(table, options.scale, options.out);
  if (!result) return result.error();
  for (size_t i = 0; i < work.size(); ++i) {
    const ExperimentRun& run = work[i]->run;
    const std::string& failure = outcome.ends[i].failure;
    if (failure.empty() || outcome.interrupted) continue;
    result->cells[run.row][run.column].failures.push_back(
        Text(run.name, ": ", failure, " (", run.log(), ")"));
  }
  std::cout << FormatText(*result);
  const std::string directory = DirectoryOf(table, options.scale, options.out);
  Result<void> written = WriteTable(*result, options.out);
  if (!written) return written;
  std::cout << "\nWritten to " << directory << "/table.md, table.json and table.csv.\n"
            << "Curves and federation statistics: metis report " << directory << "\n";
  return {};
}

// Of the cells of a table, those with a complete run below `directory` (OUT/TABLE/SCALE).
size_t CellsDone(const TableSpec& table, const fs::path& directory) {
  size_t done = 0;
  for (const TableRow& row : table.rows) {
    for (const TableColumn& column : table.columns) {
      bool complete = false;
      std::error_code error;
      for (fs::directory_iterator i(directory / row.id / column.policy, error), end;
           !error && i != end; i.increment(error)) {
        std::ifstream file(i->path() / "summary.json");
        report::Json summary = report::Json::parse(file, nullptr, false);
        complete |= summary.is_object() && summary.contains("complete") &&
                    summary["complete"] == report::Json(true);
      }
      done += complete ? 1 : 0;
    }
  }
  return done;
}

std::string DoneOf(const TableSpec& table, const std::string& out) {
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
        Text(scale.filename().string(), " ", CellsDone(table, scale), " of ", cells, " cells"));
  }
  return done.empty() ? "nothing" : Join(done);
}

}  // namespace

std::string ExperimentsDirectory(const ExperimentOptions& options) {
  if (!options.experiments.empty()) return options.experiments;
  std::error_code error;
  if (fs::is_directory("experiments", error)) return "experiments";
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path installed = self.parent_path().parent_path() / "share/metis/experiments";
  return !error && fs::is_directory(installed, error) ? installed.string() : "experiments";
}

int ListTables(const ExperimentOptions& options) {
  const std::string experiments = ExperimentsDirectory(options);
  Result<std::vector<std::string>> names = TableNames(experiments);
  if (!names) return Complain(names.error().message);
  for (const std::string& name : *names) {
    Result<TableSpec> table = ReadTableSpec(Text(experiments, "/", name));
    if (!table) return Complain(table.error().message);
    std::vector<std::string> rows;
    std::vector<std::string> columns;
    for (const TableRow& row : table->rows) rows.push_back(row.id);
    for (const TableColumn& column : table->columns) columns.push_back(column.policy);
    std::cout << name << "\n  " << table->title << " (" << table->paper << ")\n  rows     "
              << Join(rows) << "\n  columns  " << Join(columns) << "\n  done     "
              << DoneOf(*table, options.out) << "\n\n";
  }
  std::cout << "cache\n  The time of one community computation with and without the cache\n";
  return Finish();
}

int ShowTable(const ExperimentOptions& options) {
  Result<TableSpec> table = FindTable(options);
  if (!table) return Complain(table.error().message);
  Result<TableResult> result = CollectResults(*table, options.scale, options.out);
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

int RunTable(const ExperimentOptions& options) {
  Result<TableSpec> table = FindTable(options);
  if (!table) return Complain(table.error().message);
  Result<std::vector<Planned>> planned = Plan(*table, options);
  if (!planned) return Complain(planned.error().message);
  if (options.dry_run) return DryRun(*planned, options);
  std::optional<Sibling> simulate = FindSibling("simulate");
  if (!simulate) {
    return Complain("metis-simulate is not beside metis-experiment, nor on PATH: install both");
  }
  std::vector<const Planned*> work;
  size_t begun = 0;
  for (const Planned& p : *planned) {
    begun += p.found.state == RunState::kBegun ? 1 : 0;
    if (p.found.state != RunState::kDone) work.push_back(&p);
  }
  std::cerr << options.table << ": " << planned->size() << " runs, "
            << planned->size() - work.size() << " done before and skipped, " << begun
            << " to go on with, " << work.size() - begun << " to begin" << std::endl;
  JobsOutcome outcome = Carry(simulate->path, work, options);
  if (Result<void> concluded = Conclude(*table, options, work, outcome); !concluded) {
    return Complain(concluded.error().message);
  }
  if (outcome.interrupted) {
    return Finish(Complain("interrupted; the same command goes on where this one ended"));
  }
  const bool failed = std::any_of(outcome.ends.begin(), outcome.ends.end(),
                                  [](const JobEnd& end) { return !end.failure.empty(); });
  return Finish(failed ? kFailed : kOk);
}

}  // namespace metis::apps
