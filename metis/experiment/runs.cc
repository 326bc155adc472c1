#include "metis/experiment/runs.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "metis/core/text.h"
#include "metis/policy/policy.h"
#include "metis/report/run_directory.h"
#include "metis/report/run_files.h"

namespace metis::experiment {
namespace {

namespace fs = std::filesystem;

Result<config::Config> ReadCell(const std::string& file,
                                const std::vector<config::Assignment>& keys) {
  Result<config::Config> config = config::ReadConfig(file, keys);
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
  std::vector<std::string> arguments = {file};
  for (const config::Assignment& key : keys) {
    arguments.insert(arguments.end(), {"--set", Text(key.key, "=", key.value)});
  }
  arguments.insert(arguments.end(),
                   {"--seed", Text(seed), "--out", directory, "--threads", Text(threads)});
  return arguments;
}

std::vector<std::string> ExperimentRun::ArgumentsToResume(uint32_t threads) const {
  return {"--resume", directory, "--threads", Text(threads)};
}

std::string DirectoryOf(const TableSpec& table, const Scale& scale, const std::string& out) {
  return Text(out, "/", table.name, "/", NameOf(scale));
}

Result<ExperimentRun> PlanRun(const TableSpec& table, size_t row, size_t column, uint64_t offset,
                              const Scale& scale, const std::string& out) {
  const std::string file = table.FileOf(row, column);
  const std::string& policy = table.columns[column].policy;
  Result<config::Config> full = ReadCell(file, {});
  if (!full) return full.error();
  if (policy::NameOf(full->federation.policy) != policy) {
    return Invalid(Text(file, " is the cell of ", policy, ", but its policy is ",
                        policy::NameOf(full->federation.policy)));
  }
  const uint64_t seed = full->simulation.seed + offset;
  Result<std::vector<config::Assignment>> keys = ScaledKeys(*full, scale);
  if (!keys) return keys.error().In(file);
  std::vector<config::Assignment> all = *keys;
  all.push_back({"federation.seed", Text(seed), "--seeds"});
  Result<config::Config> scaled = ReadCell(file, all);
  if (!scaled) return scaled.error();
  full->simulation.seed = seed;
  return ExperimentRun{.row = row,
                       .column = column,
                       .seed = seed,
                       .name = Text(table.rows[row].id, "/", policy, ", seed ", seed),
                       .file = file,
                       .directory = Text(DirectoryOf(table, scale, out), "/", table.rows[row].id,
                                         "/", policy, "/seed-", seed),
                       .keys = *std::move(keys),
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
  Result<config::Config> config = ReadCell(there, {});
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

Result<void> AddWallTime(const ExperimentRun& run, double seconds) {
  return report::WriteRunFile(run.times(),
                              report::Json{{"wall_s", WallTime(run) + seconds}}.dump() + "\n");
}

}  // namespace metis::experiment
