#include "metis/experiment/runs.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/report/run_directory.h"
#include "metis/report/run_files.h"

namespace metis::experiment {
namespace {

namespace fs = std::filesystem;

Result<config::Config> ReadConfig(const std::string& file) {
  Result<config::Config> config = config::ReadConfig(file);
  if (!config) return config;
  if (Result<void> read = data::ReadTable(config->data); !read) return read.error();
  return config;
}

// Null where there is no such file or it is no JSON: a run that was cut off may leave half of one.
report::Json ReadJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  report::Json json = report::Json::parse(file, nullptr, false);
  return json.is_discarded() ? report::Json(nullptr) : json;
}

// The first key that differs: "[stop] duration = "20s" there, duration = "10s" here".
std::string FirstDifference(const config::Config& there, const config::Config& here) {
  std::istringstream old_lines(config::FormatConfig(there));
  std::istringstream new_lines(config::FormatConfig(here));
  std::string section;
  std::string old_line;
  std::string new_line;
  while (std::getline(old_lines, old_line) && std::getline(new_lines, new_line)) {
    if (old_line.starts_with("[")) section = old_line;
    if (old_line == new_line) continue;
    return Text(section, " ", old_line, " there, ", new_line, " here");
  }
  return "it has other groups";
}

// 0 where none was noted.
double WallTime(const ExperimentRun& run) {
  const report::Json times = ReadJson(run.times());
  const bool noted = times.is_object() && times.contains("wall_s") && times["wall_s"].is_number();
  return noted ? times["wall_s"].get<double>() : 0;
}

Found Changed(const ExperimentRun& run, std::string_view what) {
  return {.state = RunState::kChanged,
          .difference = Text(run.directory, ": ", what,
                             ". Choose another --out, or delete that directory to run it anew")};
}

}  // namespace

std::vector<std::string> ExperimentRun::ArgumentsToBegin(uint32_t threads) const {
  return {settings(), "--out", directory, "--threads", Text(threads)};
}

std::vector<std::string> ExperimentRun::ArgumentsToResume(uint32_t threads) const {
  return {"--resume", directory, "--threads", Text(threads)};
}

std::string DirectoryOf(const TableSpec& table, const Scale& scale, const std::string& out) {
  return Text(out, "/", table.name, "/", NameOf(scale));
}

Result<ExperimentRun> PlanRun(const TableSpec& table, size_t row, size_t column, uint64_t offset,
                              const Scale& scale, const std::string& out) {
  const std::string cell = Text(table.rows[row].id, "/", table.columns[column].policy);
  Result<config::Config> full = CellConfig(table, row, column);
  if (!full) return full.error();
  const uint64_t seed = full->simulation.seed + offset;
  Result<std::vector<config::Assignment>> keys = ScaledKeys(*full, scale);
  if (!keys) return keys.error().In(Text(table.file(), ": ", cell));
  keys->push_back({"federation.seed", Text(seed), "--seeds"});
  Result<config::Config> scaled = CellConfig(table, row, column, *keys);
  if (!scaled) return scaled.error();
  full->simulation.seed = seed;
  return ExperimentRun{.row = row,
                       .column = column,
                       .seed = seed,
                       .name = Text(cell, ", seed ", seed),
                       .directory = Text(DirectoryOf(table, scale, out), "/", cell, "/seed-", seed),
                       .full = *std::move(full),
                       .config = *std::move(scaled)};
}

Result<std::vector<ExperimentRun>> PlanRuns(const TableSpec& table, const std::vector<size_t>& rows,
                                            const std::vector<size_t>& columns, uint64_t seeds,
                                            const Scale& scale, const std::string& out) {
  std::vector<ExperimentRun> runs;
  for (uint64_t offset = 0; offset < seeds; ++offset) {
    for (size_t row : rows) {
      for (size_t column : columns) {
        Result<ExperimentRun> run = PlanRun(table, row, column, offset, scale, out);
        if (!run) return run.error();
        runs.push_back(*std::move(run));
      }
    }
  }
  return runs;
}

Found Inspect(const ExperimentRun& run) {
  std::error_code ignored;
  if (!fs::exists(run.directory, ignored)) return {};
  if (!fs::is_directory(run.directory, ignored)) return Changed(run, "is no directory");
  if (report::CheckRunDirectory(run.directory, report::kConfigFile, false)) return {};
  const std::string there = Text(run.directory, "/", report::kConfigFile);
  if (!fs::exists(there, ignored)) {
    const bool begun = fs::exists(Text(run.directory, "/", report::kEventsFile), ignored);
    return Changed(run, begun ? "holds a run that ended as it began"
                              : "holds other files than those of a run");
  }
  Result<config::Config> config = ReadConfig(there);
  if (!config) return Changed(run, config.error().message);
  if (*config != run.config) {
    return Changed(run, Text("holds a run that was configured otherwise (",
                             FirstDifference(*config, run.config), ")"));
  }
  const report::Json summary = ReadSummary(run.directory);
  const bool done = IsComplete(summary);
  return {.state = done ? RunState::kDone : RunState::kBegun,
          .difference = {},
          .summary = done ? summary : report::Json(nullptr),
          .wall_s = WallTime(run)};
}

report::Json ReadSummary(const std::string& directory) {
  return ReadJson(Text(directory, "/", report::kSummaryFile));
}

bool IsComplete(const report::Json& summary) {
  return summary.is_object() && summary.contains("complete") &&
         summary["complete"] == report::Json(true);
}

std::string FormatSettings(const TableSpec& table, const ExperimentRun& run) {
  return Text("# ", Printable(table.title), "\n# ", Printable(table.rows[run.row].label), "; ",
              Printable(table.columns[run.column].label), "; seed ", run.seed, "\n\n",
              config::FormatConfig(run.config));
}

Result<void> WriteSettings(const TableSpec& table, const ExperimentRun& run) {
  std::error_code error;  // is said when the file is written
  fs::create_directories(fs::path(run.settings()).parent_path(), error);
  return report::WriteRunFile(run.settings(), FormatSettings(table, run));
}

Result<void> AddWallTime(const ExperimentRun& run, double seconds) {
  return report::WriteRunFile(run.times(),
                              report::Json{{"wall_s", WallTime(run) + seconds}}.dump() + "\n");
}

}  // namespace metis::experiment
