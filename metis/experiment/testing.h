// What tests of experiments share: a small table on the disk, and run directories made by hand.
// For tests only.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/experiment/runs.h"
#include "metis/experiment/table_spec.h"

namespace metis::experiment {

inline constexpr std::string_view kSmallTable = R"toml([table]
title = "Small"
paper = "Table 0"
[stop]
duration = "40s"
[[column]]
policy = "sync-fedavg"
label = "SyncFedAvg"
[[column]]
policy = "async-dvw"
label = "AsyncDVW(na)"
[[row]]
id = "uniform-iid"
label = "Uniform, IID"
data.sizes = "uniform"
[[row]]
id = "powerlaw-iid"
label = "Power Law, IID"
data.sizes = "powerlaw"
[[measure]]
at = "40s"
label = "at 40 s"
uniform-iid = "0.9 0.8"
powerlaw-iid = "0.25 -"
)toml";

inline void WriteText(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string Changed(std::string_view text, std::string_view from, std::string_view to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, text.npos) << from;
  return Text(text.substr(0, place), to, text.substr(place + from.size()));
}

// A directory with the small table "small" in it, deleted in the end.
class SmallExperiment : public FileTest {
 protected:
  SmallExperiment() { WriteText(home_ / "small/table.toml", kSmallTable); }
  std::string out() const { return (home_ / "out").string(); }

  // Another text in the place of a part of table.toml.
  void ChangeTable(std::string_view from, std::string_view to) const {
    WriteText(home_ / "small/table.toml", Changed(kSmallTable, from, to));
  }

  TableSpec ReadTable() const {
    Result<TableSpec> table = ReadTableSpec((home_ / "small").string());
    EXPECT_TRUE(table.ok()) << (table ? "" : table.error().message);
    return *table;
  }

  ExperimentRun PlanOne(size_t row, size_t column, uint64_t offset = 0,
                        const Scale& scale = {}) const {
    Result<ExperimentRun> run = PlanRun(ReadTable(), row, column, offset, scale, out());
    EXPECT_TRUE(run.ok()) << (run ? "" : run.error().message);
    return *run;
  }

  // A run as metis-simulate leaves it, with two tests.
  void LeaveRun(const ExperimentRun& run, bool complete, double early, double late) const {
    WriteText(std::filesystem::path(run.directory) / "config.toml",
              config::FormatConfig(run.config));
    report::Json summary = {{"complete", complete},
                            {"accuracy", {{"final", late}}},
                            {"tests",
                             {{{"t_s", 10.0}, {"version", 2}, {"accuracy", early}},
                              {{"t_s", 40.01}, {"version", 5}, {"accuracy", late}}}}};
    WriteText(std::filesystem::path(run.directory) / "summary.json", summary.dump());
  }

  const std::filesystem::path home_ = directory();
};

}  // namespace metis::experiment
