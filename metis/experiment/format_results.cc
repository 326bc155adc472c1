// The table of results in words, as Markdown, CSV and JSON.
#include <algorithm>
#include <set>
#include <sstream>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/experiment/results.h"

namespace metis::experiment {
namespace {

template <typename Visit>
void ForEachCell(const TableResult& result, Visit visit) {
  for (size_t row = 0; row < result.cells.size(); ++row) {
    for (size_t column = 0; column < result.cells[row].size(); ++column) visit(row, column);
  }
}

// "SyncFedAvg"; with several measures "SyncFedAvg at 10,000 s".
std::string TitleOf(const TableResult& result, size_t column, size_t measure) {
  const TableSpec& table = result.table;
  return table.measures.size() == 1
             ? table.columns[column].label
             : Text(table.columns[column].label, " ", table.measures[measure].label);
}

// The number of seeds of every measured cell, if it is the same for all.
std::optional<size_t> CommonCount(const TableResult& result) {
  std::set<size_t> counts;
  ForEachCell(result, [&](size_t row, size_t column) {
    for (const Figure& figure : result.cells[row][column].figures) {
      if (figure.count() > 0) counts.insert(figure.count());
    }
  });
  return counts.size() == 1 ? std::optional(*counts.begin()) : std::nullopt;
}

// What stands where nothing was measured.
std::string Absent(const CellResult& cell) {
  if (!cell.failures.empty()) return "failed";
  return cell.begun.empty() ? "-" : "begun";
}

std::string Measured(const TableResult& result, size_t row, size_t column, size_t measure) {
  const CellResult& cell = result.cells[row][column];
  const Figure& figure = cell.figures[measure];
  if (figure.count() == 0) return Absent(cell);
  return Text(FormatFigure(figure), CommonCount(result) ? "" : Text(" (", figure.count(), ")"));
}

std::string PaperFigure(const std::optional<double>& figure) {
  return figure ? Fixed(*figure, 4) : "-";
}

// What has to be said about the figures, a line each.
std::vector<std::string> Notes(const TableResult& result) {
  std::vector<std::string> notes;
  const TableSpec& table = result.table;
  std::string moments;
  for (const Measure& measure : table.measures) {
    moments += (moments.empty() ? "" : " and ") + measure.label;
  }
  notes.push_back(Text("Top-1 accuracy on the test set ", moments,
                       "; the paper's figures: ", table.paper, "."));
  for (const std::string& difference : result.differences) {
    notes.push_back(Text("Not at full scale: ", difference, "."));
  }
  for (const Measure& measure : table.measures) {
    const Measure scaled = Scaled(measure, result.scale);
    if (result.scale.full() || (scaled.time == measure.time && scaled.rounds == measure.rounds)) {
      continue;
    }
    notes.push_back(Text("What the paper takes ", measure.label, " is taken at ",
                         scaled.time ? Text(Fixed(scaled.time->seconds(), 1), " s")
                                     : Text(*scaled.rounds, " rounds"),
                         " here."));
  }
  if (std::optional<size_t> count = CommonCount(result)) {
    notes.push_back(*count == 1 ? "One seed: no spread can be told."
                                : Text(*count, " seeds: mean ± sample deviation."));
  } else {
    bool any = false;
    ForEachCell(result, [&](size_t row, size_t column) {
      for (const Figure& figure : result.cells[row][column].figures) any |= figure.count() > 0;
    });
    notes.push_back(any ? "Mean ± sample deviation; in brackets the number of seeds."
                        : "Nothing was measured yet.");
  }
  if (result.wall_s() > 0) {
    notes.push_back(Text("Wall-clock time of all runs: ", FormatSeconds(result.wall_s()), "."));
  }
  ForEachCell(result, [&](size_t row, size_t column) {
    const CellResult& cell = result.cells[row][column];
    for (const std::string& failure : cell.failures) notes.push_back("Failed: " + failure);
    for (const std::string& begun : cell.begun) notes.push_back("Begun, not complete: " + begun);
    for (const std::string& changed : cell.changed) notes.push_back("Left out: " + changed);
  });
  return notes;
}

// A field of CSV: quoted where it must be.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

report::Json JsonOf(const std::optional<double>& number) {
  return number ? report::Json(*number) : report::Json(nullptr);
}

report::Json CellJson(const TableResult& result, size_t row, size_t column) {
  const CellResult& cell = result.cells[row][column];
  report::Json measures = report::Json::array();
  for (size_t m = 0; m < result.table.measures.size(); ++m) {
    const Figure& figure = cell.figures[m];
    report::Json seeds = report::Json::object();
    for (const auto& [seed, accuracy] : figure.by_seed) seeds[Text(seed)] = accuracy;
    measures.push_back({{"at", result.table.measures[m].at},
                        {"paper", JsonOf(result.table.measures[m].paper[row][column])},
                        {"mean", JsonOf(figure.mean())},
                        {"deviation", JsonOf(figure.deviation())},
                        {"seeds", std::move(seeds)}});
  }
  return {{"policy", result.table.columns[column].policy},
          {"measures", std::move(measures)},
          {"wall_s", cell.wall_s},
          {"begun", cell.begun},
          {"left_out", cell.changed},
          {"failed", cell.failures}};
}

}  // namespace

std::string FormatFigure(const Figure& figure) {
  std::optional<double> deviation = figure.deviation();
  return Text(Fixed(figure.mean().value_or(0), 4),
              deviation ? Text(" ± ", Fixed(*deviation, 4)) : "");
}

TableWords WordsOf(const TableResult& result) {
  const TableSpec& table = result.table;
  TableWords words;
  for (size_t m = 0; m < table.measures.size(); ++m) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      words.titles.push_back(TitleOf(result, c, m));
    }
  }
  for (size_t row = 0; row < table.rows.size(); ++row) {
    TableWords::Row& cells = words.rows.emplace_back();
    cells.label = table.rows[row].label;
    for (size_t m = 0; m < table.measures.size(); ++m) {
      const std::vector<bool> best = BestOfRow(result, row, m);
      for (size_t c = 0; c < table.columns.size(); ++c) {
        cells.cells.push_back({.measured = Measured(result, row, c, m),
                               .paper = PaperFigure(table.measures[m].paper[row][c]),
                               .best = best[c]});
      }
    }
  }
  words.notes = Notes(result);
  return words;
}

std::string FormatMarkdown(const TableResult& result) {
  const TableWords words = WordsOf(result);
  std::ostringstream out;
  out << "# " << result.table.title << "\n\n| row |";
  for (const std::string& title : words.titles) out << " " << title << " |";
  out << "\n|---|";
  for (size_t i = 0; i < words.titles.size(); ++i) out << "---|";
  out << "\n";
  for (const TableWords::Row& row : words.rows) {
    out << "| " << row.label << " |";
    for (const TableWords::Cell& cell : row.cells) {
      const char* mark = cell.best ? "**" : "";
      out << " " << mark << cell.measured << mark << " (paper " << cell.paper << ") |";
    }
    out << "\n";
  }
  out << "\nThe best measured of a row is bold.\n\n";
  for (const std::string& note : words.notes) out << "- " << note << "\n";
  return out.str();
}

std::string FormatCsv(const TableResult& result) {
  std::ostringstream out;
  out << "row,policy,at,paper,mean,deviation,seeds,wall_s\n";
  auto number = [](const std::optional<double>& value) { return value ? Text(*value) : ""; };
  ForEachCell(result, [&](size_t row, size_t column) {
    const CellResult& cell = result.cells[row][column];
    for (size_t m = 0; m < result.table.measures.size(); ++m) {
      const Measure& measure = result.table.measures[m];
      out << CsvField(result.table.rows[row].id) << ","
          << CsvField(result.table.columns[column].policy) << "," << CsvField(measure.at) << ","
          << number(measure.paper[row][column]) << "," << number(cell.figures[m].mean()) << ","
          << number(cell.figures[m].deviation()) << "," << cell.figures[m].count() << ","
          << Fixed(cell.wall_s, 1) << "\n";
    }
  });
  return out.str();
}

report::Json FormatJson(const TableResult& result) {
  report::Json rows = report::Json::array();
  for (size_t row = 0; row < result.cells.size(); ++row) {
    report::Json cells = report::Json::array();
    for (size_t column = 0; column < result.cells[row].size(); ++column) {
      cells.push_back(CellJson(result, row, column));
    }
    rows.push_back({{"row", result.table.rows[row].id},
                    {"label", result.table.rows[row].label},
                    {"cells", std::move(cells)}});
  }
  return {{"table", result.table.name},
          {"title", result.table.title},
          {"paper", result.table.paper},
          {"scale", {{"data", result.scale.data}, {"time", result.scale.time}}},
          {"differences", result.differences},
          {"rows", std::move(rows)},
          {"wall_s", result.wall_s()},
          {"notes", Notes(result)}};
}

}  // namespace metis::experiment
