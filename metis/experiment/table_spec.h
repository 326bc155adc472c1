// A table of the evaluation as it stands in experiments/TABLE/table.toml: rows are distributions of
// data, columns are policies, and every cell is a configuration. What all cells have in common is
// written once, as in a configuration; what a row or a column sets beside that, as dotted keys of
// its own. The file also holds the figures that the paper prints, in the order of the columns:
//
//   [table]
//   title = "CIFAR-10, heterogeneous cluster"
//   paper = "Table I, right"
//   [stop]                     # any section of a configuration, also [[group]]
//   duration = "14000s"
//   [[group]]
//   name = "slow"
//   batch_time = "2500ms"
//   [[column]]
//   policy = "async-dvw-adaptive"
//   label = "AsyncDVW(a)"
//   group.slow.vc_tombstones = 1
//   [[row]]
//   id = "powerlaw-iid"
//   label = "Power Law, IID"
//   data.sizes = "powerlaw"
//   [[measure]]
//   at = "14000s"              # or "200 rounds"
//   label = "at 14,000 s"
//   powerlaw-iid = "0.7682"    # "-" where the paper has none
//
// Values; only ReadTableSpec(), FindTable() and TableNames() touch the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metis/config/config.h"
#include "metis/config/document.h"
#include "metis/core/result.h"
#include "metis/core/time.h"

namespace metis::experiment {

struct TableColumn {
  std::string policy;
  std::string label;
  std::vector<config::Assignment> keys = {};  // that it sets beside its policy
};

struct TableRow {
  std::string id;
  std::string label;
  std::vector<config::Assignment> keys = {};  // that it sets
};

// When the accuracy of a cell is taken: at a time, or after a number of synchronous rounds.
struct Measure {
  std::string at;  // as written: "10000s", "200 rounds"
  std::string label;
  std::optional<Duration> time = std::nullopt;
  std::optional<uint64_t> rounds = std::nullopt;
  std::vector<std::vector<std::optional<double>>> paper = {};  // [row][column]
};

struct TableSpec {
  std::string name;       // "cifar10-homogeneous"
  std::string directory;  // experiments/NAME
  std::string title;
  std::string paper;  // where the paper has it
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  std::vector<Measure> measures;
  config::Document common;  // of the configurations of all cells

  // Where all of this is written.
  std::string file() const;
};

// The configuration of a cell, with further keys, which win: what all cells have in common, changed
// by the row, then by the column. Errors name the line of table.toml.
Result<config::Config> CellConfig(const TableSpec& table, size_t row, size_t column,
                                  const std::vector<config::Assignment>& keys = {});

// Reads DIRECTORY/table.toml. Errors name file and line, the value and the way out.
Result<TableSpec> ReadTableSpec(const std::string& directory);
Result<TableSpec> ParseTableSpec(std::string_view text, const std::string& directory);

// The tables below `experiments`, by name. kNotFound if there is no such directory.
Result<std::vector<std::string>> TableNames(const std::string& experiments);

// Reads the table `name` below `experiments`. For a name that is none, the error lists those that
// there are, and `others` that are no tables but may be meant.
Result<TableSpec> FindTable(const std::string& experiments, const std::string& name,
                            const std::vector<std::string>& others = {});

// Rows whose ids begin like one of the words between the commas; all for an empty text. A word that
// fits none is an error that names the nearest.
Result<std::vector<size_t>> ChooseRows(const TableSpec& table, std::string_view text);
// The one row of that id, and the one column of that policy. An error names the nearest.
Result<size_t> FindRow(const TableSpec& table, const std::string& id);
Result<size_t> FindColumn(const TableSpec& table, const std::string& policy);

// Columns by the exact names of their policies.
Result<std::vector<size_t>> ChooseColumns(const TableSpec& table, std::string_view text);

// "a,b" as "a" and "b"; empty pieces are left out.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace metis::experiment
