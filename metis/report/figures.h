// The figures of several runs side by side: the data of `metis compare` and of the page that `metis
// report` writes (docs/reports.md). Runs whose settings differ only in the seed are one group.
// Values; gathering them reads each run once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/report/json_archive.h"
#include "metis/report/run_figures.h"

namespace metis::report {

struct Group {
  std::string label;  // unique: the policy, and what tells its group from others of that policy
  std::string policy;
  FlatSettings settings;         // without the seed
  std::vector<RunFigures> runs;  // by seed; at least one
};

struct Figures {
  std::string title;  // what was asked for
  std::vector<double> targets;
  std::vector<Group> groups;         // in the order of their first runs
  std::vector<std::string> notices;  // what was left out, and why: a line each
  size_t runs() const;
};

inline constexpr size_t kMaxTargets = 3;

// The run directories that each place stands for: the place itself, or all below it, down to a few
// levels, by name. Each directory once, whatever it is called. A place without a run is an error.
Result<std::vector<std::string>> FindRuns(const std::vector<std::string>& places);

// `targets` are at most kMaxTargets accuracies, ascending; empty: ChooseTargets().
Result<Figures> GatherFigures(const std::vector<std::string>& places, std::vector<double> targets,
                              const ReadSettings& read_settings);

// A run joins the first group of its settings that lacks its seed. A repetition with the same
// outcome is left out with a notice: counted twice it would narrow the spread. One with another
// outcome (of a changed program, say) is a group of its own.
std::vector<Group> GroupRuns(std::vector<RunFigures> runs, std::vector<std::string>& notices);

// The three highest multiples of 0.05 that more than half of the groups reach, in at least half of
// their runs; those that every first test already reaches tell nothing and are passed over. Where
// there is none, multiples of 0.01.
std::vector<double> ChooseTargets(const std::vector<Group>& groups);

// Over the runs of a group: its spread, and how many have a value at all.
struct Measured {
  std::vector<std::optional<double>> values;  // one a run
  Spread spread;                              // of those that are there
};
struct Comparison {
  Measured requests, rejected, models_exchanged, models_for_evaluation;
  Measured final_accuracy, best_accuracy;
  std::vector<Measured> time_to_accuracy_s;    // one a target
  std::vector<Measured> requests_to_accuracy;  // likewise
};
Comparison Compare(const Group& group, const std::vector<double>& targets);

// The data of a page; `program` is its maker, "metis 0.1.0". Long runs are thinned, and all the
// more if there are many, so that a page stays below about 20 MB.
Json FiguresJson(const Figures& figures, const std::string& program);

}  // namespace metis::report
