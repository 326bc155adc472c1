#include "apps/experiment_view.h"

#include <sstream>
#include <utility>
#include <vector>

#include "apps/table.h"
#include "metis/core/display.h"
#include "metis/core/text.h"

namespace metis::apps {

std::string FormatText(const experiment::TableResult& result) {
  const experiment::TableWords words = WordsOf(result);
  std::vector<Table::Column> columns = {{"row"}};
  for (const std::string& title : words.titles) columns.push_back({title, Align::kRight});
  Table text(columns);
  for (const experiment::TableWords::Row& row : words.rows) {
    std::vector<std::string> measured = {row.label};
    std::vector<std::string> paper = {"  paper"};
    for (const experiment::TableWords::Cell& cell : row.cells) {
      measured.push_back((cell.best ? "*" : "") + cell.measured);
      paper.push_back(cell.paper);
    }
    text.AddRow(std::move(measured));
    text.AddRow(std::move(paper));
  }
  std::ostringstream out;
  out << result.table.title << "\n\n";
  text.Print(out);
  out << "\n* the best measured of its row.\n";
  for (const std::string& note : words.notes) out << note << "\n";
  return out.str();
}

std::string FormatText(const experiment::CacheFigure& figure) {
  Table table({{"model"},
               {"parameters", Align::kRight},
               {"learners", Align::kRight},
               {"with cache", Align::kRight},
               {"without", Align::kRight},
               {"ratio", Align::kRight}});
  const auto time = [](double seconds) {
    return Text(experiment::FormatMilliseconds(1000 * seconds), " ms");
  };
  for (const experiment::CachePoint& point : figure.points) {
    table.AddRow({point.model, Grouped(point.parameters), Text(point.learners), time(point.with_s),
                  time(point.without_s), Fixed(point.ratio(), 1)});
  }
  std::ostringstream out;
  table.Print(out);
  out << "\nOne community computation on one thread, median of " << figure.repetitions
      << "; the CPU's caches are emptied before each.\n";
  for (const std::string& skipped : figure.skipped) out << "Skipped: " << skipped << ".\n";
  return out.str();
}

}  // namespace metis::apps
