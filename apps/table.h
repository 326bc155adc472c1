// A table for the terminal: aligned columns, a header, two spaces between columns.
//
//   Table table({{"policy"}, {"accuracy", Align::kRight}});
//   table.AddRow({"async-dvw", Fixed(0.8412, 3)});
//   table.Print(std::cout, OutputIsTerminal());
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace metis::apps {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;  // kRight for numbers
  };

  explicit Table(std::vector<Column> columns);

  // One cell for each column (checked).
  void AddRow(std::vector<std::string> cells);

  // The header is bold if `styled`; without titles there is no header. No trailing spaces.
  void Print(std::ostream& out, bool styled = false) const;

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace metis::apps
