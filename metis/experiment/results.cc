#include "metis/experiment/results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/report/run_files.h"

namespace metis::experiment {
namespace {

namespace fs = std::filesystem;

// The numbers of the directories seed-NUMBER, ascending.
std::vector<uint64_t> SeedsIn(const std::string& directory) {
  constexpr std::string_view kPrefix = "seed-";
  std::vector<uint64_t> seeds;
  std::error_code error;
  for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
    std::string name = i->path().filename().string();
    if (!name.starts_with(kPrefix) || !i->is_directory()) continue;
    const std::string_view digits = std::string_view(name).substr(kPrefix.size());
    if (auto seed = ParseNumber<uint64_t>(digits)) seeds.push_back(*seed);
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

std::optional<double> NumberAt(const report::Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return std::nullopt;
  return json[key].get<double>();
}

// Of the latest test for which `by_then` holds.
template <typename ByThen>
std::optional<double> LatestTest(const report::Json& summary, ByThen by_then) {
  std::optional<double> accuracy;
  if (!summary.contains("tests") || !summary["tests"].is_array()) return accuracy;
  for (const report::Json& test : summary["tests"]) {
    if (by_then(test)) accuracy = NumberAt(test, "accuracy");
  }
  return accuracy;
}

Result<CellResult> CollectCell(const TableSpec& table, size_t row, size_t column,
                               const ExperimentRun& first, const Scale& scale,
                               const std::string& out) {
  CellResult cell;
  cell.figures.resize(table.measures.size());
  const std::string directory = fs::path(first.directory).parent_path().string();
  for (uint64_t seed : SeedsIn(directory)) {
    if (seed < first.seed) {
      cell.changed.push_back(
          Text(directory, "/seed-", seed, ": the seeds of this cell begin at ", first.seed));
      continue;
    }
    Result<ExperimentRun> run = PlanRun(table, row, column, seed - first.seed, scale, out);
    if (!run) return run.error();
    Found found = Inspect(*run);
    cell.wall_s += found.wall_s;
    if (found.state == RunState::kBegun) cell.begun.push_back(run->directory);
    if (found.state == RunState::kChanged) cell.changed.push_back(found.difference);
    if (found.state != RunState::kDone) continue;
    for (size_t m = 0; m < table.measures.size(); ++m) {
      std::optional<double> accuracy =
          AccuracyAt(found.summary, table.measures[m], run->full, scale);
      if (accuracy) cell.figures[m].by_seed[seed] = *accuracy;
    }
  }
  return cell;
}

}  // namespace

std::optional<double> Figure::mean() const {
  if (by_seed.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [seed, accuracy] : by_seed) sum += accuracy;
  return sum / static_cast<double>(count());
}

std::optional<double> Figure::deviation() const {
  if (count() < 2) return std::nullopt;
  const double centre = *mean();
  double squares = 0;
  for (const auto& [seed, accuracy] : by_seed) squares += (accuracy - centre) * (accuracy - centre);
  return std::sqrt(squares / static_cast<double>(count() - 1));
}

double TableResult::wall_s() const {
  double sum = 0;
  for (const auto& row : cells) {
    for (const CellResult& cell : row) sum += cell.wall_s;
  }
  return sum;
}

std::optional<double> AccuracyAt(const report::Json& summary, const Measure& measure,
                                 const config::Config& full, const Scale& scale) {
  if (!summary.is_object() || !summary.contains("accuracy")) return std::nullopt;
  const Measure scaled = Scaled(measure, scale);
  if (scaled.rounds) {
    return LatestTest(summary, [&](const report::Json& test) {
      return NumberAt(test, "version").value_or(1e300) <= static_cast<double>(*scaled.rounds);
    });
  }
  const std::optional<Duration>& duration = full.federation.stop.duration;
  if (duration && *measure.time >= *duration) return NumberAt(summary["accuracy"], "final");
  return LatestTest(summary, [&](const report::Json& test) {
    return NumberAt(test, "t_s").value_or(1e300) <= scaled.time->seconds();
  });
}

Result<TableResult> CollectResults(const TableSpec& table, const Scale& scale,
                                   const std::string& out) {
  TableResult result{.table = table, .scale = scale, .cells = {}, .differences = {}};
  for (size_t row = 0; row < table.rows.size(); ++row) {
    result.cells.emplace_back();
    for (size_t column = 0; column < table.columns.size(); ++column) {
      Result<ExperimentRun> first = PlanRun(table, row, column, 0, scale, out);
      if (!first) return first.error();
      std::string difference = Differences(first->full, first->config);
      std::vector<std::string>& known = result.differences;
      if (!difference.empty() && std::find(known.begin(), known.end(), difference) == known.end()) {
        known.push_back(std::move(difference));
      }
      Result<CellResult> cell = CollectCell(table, row, column, *first, scale, out);
      if (!cell) return cell.error();
      result.cells.back().push_back(*std::move(cell));
    }
  }
  return result;
}

std::vector<bool> BestOfRow(const TableResult& result, size_t row, size_t measure) {
  const std::vector<CellResult>& cells = result.cells[row];
  double best = -1;
  size_t measured = 0;
  for (const CellResult& cell : cells) {
    std::optional<double> mean = cell.figures[measure].mean();
    measured += mean ? 1 : 0;
    best = std::max(best, mean.value_or(-1));
  }
  std::vector<bool> is_best;
  for (const CellResult& cell : cells) {
    is_best.push_back(measured > 1 && cell.figures[measure].mean() == best);
  }
  return is_best;
}

Result<void> WriteTable(const TableResult& result, const std::string& out) {
  const fs::path directory = DirectoryOf(result.table, result.scale, out);
  std::error_code error;
  fs::create_directories(directory, error);
  Result<void> written = report::WriteRunFile(directory / "table.md", FormatMarkdown(result));
  if (written) {
    written = report::WriteRunFile(directory / "table.json", FormatJson(result).dump(2) + "\n");
  }
  if (written) written = report::WriteRunFile(directory / "table.csv", FormatCsv(result));
  return written;
}

}  // namespace metis::experiment
