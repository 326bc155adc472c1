// metis-compare: runs side by side, a row for each group of runs that differ only in their seed.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/run_arguments.h"
#include "apps/table.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

using report::Comparison;
using report::Figures;
using report::Group;
using report::Json;
using report::Measured;

std::string Mean(const Measured& measured, int digits) {
  return measured.spread.mean ? Fixed(*measured.spread.mean, digits) : "-";
}

std::string MeanAndDeviation(const Measured& measured, int digits) {
  std::string text = Mean(measured, digits);
  if (measured.spread.deviation) text += Text(" ± ", Fixed(*measured.spread.deviation, digits));
  return text;
}

// "40.0 s", of some of the seeds only "40.0 s (2 of 3)".
std::string Time(const Measured& measured) {
  if (!measured.spread.mean) return "-";
  const size_t reached = measured.spread.count, all = measured.values.size();
  std::string of = reached == all ? "" : Text(" (", reached, " of ", all, ")");
  return Text(Fixed(*measured.spread.mean, 1), " s", of);
}

bool Complete(const Group& group) {
  for (const report::RunFigures& run : group.runs) {
    if (!run.complete) return false;
  }
  return true;
}

void PrintNotes(const Figures& figures) {
  std::string notes;
  for (const Group& group : figures.groups) {
    for (const report::RunFigures& run : group.runs) {
      if (run.complete) continue;
      notes += Text("* ", run.directory, " ended early, after ", Fixed(run.length_s, 0), " s.\n");
    }
  }
  for (const Group& group : figures.groups) {
    if (!group.runs.front().measured_time) continue;
    notes += Text(group.label, ": times are those of the machine, not virtual.\n");
  }
  if (!notes.empty()) std::cout << "\n" << notes;
}

void PrintTable(const Figures& figures) {
  std::vector<Table::Column> columns = {{"runs"},
                                        {"seeds", Align::kRight},
                                        {"requests", Align::kRight},
                                        {"models", Align::kRight},
                                        {"evaluated", Align::kRight},
                                        {"accuracy", Align::kRight},
                                        {"best", Align::kRight}};
  for (double target : figures.targets) columns.push_back({Text("to ", target), Align::kRight});
  Table table(columns);
  for (const Group& group : figures.groups) {
    const Comparison comparison = Compare(group, figures.targets);
    std::vector<std::string> cells = {Text(group.label, Complete(group) ? "" : " *"),
                                      Text(group.runs.size()),
                                      Mean(comparison.requests, 0),
                                      Mean(comparison.models_exchanged, 0),
                                      Mean(comparison.models_for_evaluation, 0),
                                      MeanAndDeviation(comparison.final_accuracy, 4),
                                      MeanAndDeviation(comparison.best_accuracy, 4)};
    for (const Measured& time : comparison.time_to_accuracy_s) cells.push_back(Time(time));
    table.AddRow(std::move(cells));
  }
  table.Print(std::cout, OutputIsTerminal());
  PrintNotes(figures);
}

// One thing that was measured over the runs of a group, with its name in JSON and CSV.
struct Column {
  std::string name;
  const Measured& measured;
};

std::vector<Column> ColumnsOf(const Comparison& comparison) {
  return {{"requests", comparison.requests},
          {"rejected", comparison.rejected},
          {"models_exchanged", comparison.models_exchanged},
          {"models_for_evaluation", comparison.models_for_evaluation},
          {"final_accuracy", comparison.final_accuracy},
          {"best_accuracy", comparison.best_accuracy}};
}

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json MeasuredJson(const Measured& measured) {
  Json values = Json::array();
  for (const std::optional<double>& value : measured.values) values.push_back(OrNull(value));
  return {{"mean", OrNull(measured.spread.mean)},
          {"deviation", OrNull(measured.spread.deviation)},
          {"count", measured.spread.count},
          {"values", std::move(values)}};
}

// One for each target accuracy.
Json ListJson(const std::vector<Measured>& list) {
  Json json = Json::array();
  for (const Measured& measured : list) json.push_back(MeasuredJson(measured));
  return json;
}

void PrintJson(const Figures& figures) {
  Json groups = Json::array();
  for (const Group& group : figures.groups) {
    const Comparison comparison = Compare(group, figures.targets);
    Json json = {{"label", group.label},       {"policy", group.policy},
                 {"settings", group.settings}, {"complete", Complete(group)},
                 {"seeds", Json::array()},     {"directories", Json::array()}};
    for (const report::RunFigures& run : group.runs) {
      json["seeds"].push_back(run.seed);
      json["directories"].push_back(run.directory);
    }
    for (const Column& column : ColumnsOf(comparison)) {
      json[column.name] = MeasuredJson(column.measured);
    }
    json["time_to_accuracy_s"] = ListJson(comparison.time_to_accuracy_s);
    json["requests_to_accuracy"] = ListJson(comparison.requests_to_accuracy);
    groups.push_back(std::move(json));
  }
  const Json all = {{"target_accuracies", figures.targets}, {"groups", std::move(groups)}};
  // File names need not be UTF-8, JSON is.
  std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

std::string CsvText(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string CsvNumber(const std::optional<double>& value) { return value ? Text(*value) : ""; }

void PrintCsv(const Figures& figures) {
  for (size_t i = 0; i < figures.groups.size(); ++i) {
    const Group& group = figures.groups[i];
    const Comparison comparison = Compare(group, figures.targets);
    std::vector<Column> columns = ColumnsOf(comparison);
    for (size_t t = 0; t < figures.targets.size(); ++t) {
      const double target = figures.targets[t];
      columns.push_back({Text("time_to_", target, "_s"), comparison.time_to_accuracy_s[t]});
      columns.push_back({Text("requests_to_", target), comparison.requests_to_accuracy[t]});
    }
    if (i == 0) {
      std::cout << "label,policy,runs,complete";
      for (const Column& column : columns) {
        std::cout << "," << column.name << "," << column.name << "_deviation," << column.name
                  << "_count";
      }
      std::cout << "\n";
    }
    std::cout << CsvText(group.label) << "," << CsvText(group.policy) << "," << group.runs.size()
              << "," << (Complete(group) ? "true" : "false");
    for (const Column& column : columns) {
      const report::Spread& spread = column.measured.spread;
      std::cout << "," << CsvNumber(spread.mean) << "," << CsvNumber(spread.deviation) << ","
                << spread.count;
    }
    std::cout << "\n";
  }
}

int Main(int argc, const char* const* argv) {
  RunArguments arguments;
  bool json = false, csv = false;
  CLI::App app(
      "Puts recorded runs side by side, a row for each group of runs that differ only in their "
      "seed:\nmeans over the seeds, ± the sample standard deviation, and the time until a test "
      "first\nreaches an accuracy.",
      "metis compare");
  app.footer(
      "Examples:\n"
      "  metis simulate --policy all --seed 1 --out runs/s1\n"
      "  metis simulate --policy all --seed 2 --out runs/s2\n"
      "  metis compare runs/s1 runs/s2\n"
      "  metis compare runs/s1/sync-dvw runs/s1/async-dvw --target 0.6 --target 0.8 --csv");
  AddRunArguments(app, arguments);
  CLI::Option* as_json = app.add_flag("--json", json, "Print everything as JSON, run by run, too");
  app.add_flag("--csv", csv, "Print means, deviations and counts as CSV")->excludes(as_json);
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  Result<Figures> figures = GatherFigures(arguments);
  if (!figures) return Complain(figures.error().message);
  if (json) {
    PrintJson(*figures);
  } else if (csv) {
    PrintCsv(*figures);
  } else {
    PrintTable(*figures);
  }
  return Finish();
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
