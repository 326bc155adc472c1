// What the runs of a table came to, beside what the paper says: read from their run directories
// and from nothing else. Only runs that are complete and configured as their cell is now count.
// Values and free functions; CollectResults() reads a few files of each run, WriteTable() writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/experiment/runs.h"
#include "metis/experiment/scale.h"
#include "metis/experiment/table_spec.h"
#include "metis/report/json_archive.h"

namespace metis::experiment {

// Accuracies of one cell at one measure, over seeds.
struct Figure {
  std::map<uint64_t, double> by_seed = {};

  size_t count() const { return by_seed.size(); }
  std::optional<double> mean() const;
  std::optional<double> deviation() const;  // of the sample; from two seeds on
};

struct CellResult {
  std::vector<Figure> figures = {};        // one for each measure of the table
  std::vector<std::string> begun = {};     // directories of runs that are not complete
  std::vector<std::string> changed = {};   // what is wrong with those that do not count
  std::vector<std::string> failures = {};  // of runs of this very command
  double wall_s = 0;
};

struct TableResult {
  TableSpec table;
  Scale scale;
  std::vector<std::vector<CellResult>> cells;  // [row][column]
  std::vector<std::string> differences;        // of scale, each once

  double wall_s() const;
};

// Looks at every seed that is there below `out`.
Result<TableResult> CollectResults(const TableSpec& table, const Scale& scale,
                                   const std::string& out);

// The accuracy at the measure's moment (of the full-scale run), from the run's tests: the latest
// test by then; the last of all where the run is over by then. Empty if nothing was tested.
std::optional<double> AccuracyAt(const report::Json& summary, const Measure& measure,
                                 const config::Config& full, const Scale& scale);

// Columns whose mean is the best of the row at that measure; several if equal, none with fewer than
// two policies measured.
std::vector<bool> BestOfRow(const TableResult& result, size_t row, size_t measure);

// The table in words, for every form that people read.
struct TableWords {
  struct Cell {
    std::string measured;  // "0.8121 ± 0.0040 (3)", or why there is none
    std::string paper;     // "0.8272"
    bool best = false;     // of its row
  };
  struct Row {
    std::string label;
    std::vector<Cell> cells;  // by measure, then by column
  };
  std::vector<std::string> titles;  // of the cells
  std::vector<Row> rows;
  std::vector<std::string> notes;  // what is to be said below, a line each
};
TableWords WordsOf(const TableResult& result);

std::string FormatMarkdown(const TableResult& result);
std::string FormatCsv(const TableResult& result);
report::Json FormatJson(const TableResult& result);

// table.md, table.json and table.csv in OUT/TABLE/SCALE.
Result<void> WriteTable(const TableResult& result, const std::string& out);

// "0.8121", "0.8121 ± 0.0040"
std::string FormatFigure(const Figure& figure);

}  // namespace metis::experiment
