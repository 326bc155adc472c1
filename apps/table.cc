#include "apps/table.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "metis/core/check.h"

namespace metis::apps {
namespace {

// Characters of UTF-8 text: bytes that do not continue one.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  METIS_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::Print(std::ostream& out, bool styled) const {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  bool header = false;
  for (size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    header = header || !columns_[c].title.empty();
    widths.push_back(WidthOf(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], WidthOf(row[c]));
  }
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    size_t pending = 0;  // spaces owed before the next visible character
    for (size_t c = 0; c < cells.size(); ++c) {
      size_t padding = widths[c] - WidthOf(cells[c]);
      bool right = columns_[c].align == Align::kRight;
      pending += (c == 0 ? 0 : 2) + (right ? padding : 0);
      if (!cells[c].empty()) {
        text.append(pending, ' ').append(cells[c]);
        pending = 0;
      }
      pending += right ? 0 : padding;
    }
    return text;
  };
  if (header) out << (styled ? "\x1b[1m" : "") << line(titles) << (styled ? "\x1b[0m" : "") << "\n";
  for (const auto& row : rows_) out << line(row) << "\n";
}

}  // namespace metis::apps
