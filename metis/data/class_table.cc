#include "metis/data/class_table.h"

#include <algorithm>
#include <optional>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/data/byte_reader.h"
#include "metis/data/dataset.h"
#include "metis/data/fields.h"

namespace metis::data {
namespace {

constexpr std::string_view kLearnerTitle = "learner";

std::string Unquoted(std::string title) {
  std::replace(title.begin(), title.end(), '"', '\'');
  return title;
}

class TableParser {
 public:
  explicit TableParser(const std::string& file) { table_.file = file; }

  Result<void> Line(const TextLine& line) {
    number_ = line.number;
    Result<void> split = SplitFields(line.text, table_.file, number_, fields_);
    if (!split) return split;
    if (fields_.size() == 1 && fields_[0].empty()) return {};
    if (columns_ == 0) {
      columns_ = fields_.size();
      if (IsHeader()) return Header();
    }
    if (fields_.size() != columns_) {
      return At(std::min(fields_.size(), columns_),
                Text("the line has ", fields_.size(), " columns, the first line ", columns_));
    }
    return Learner();
  }

  Result<ClassTable> Finish() && {
    if (table_.counts.empty()) {
      return Invalid(table_.file + ": the table has no learners: write one line for each");
    }
    return std::move(table_);
  }

 private:
  Error At(size_t column, std::string_view message) const {
    return AtField(table_.file, number_, column, message);
  }

  // A negative number is no title but a mistake, and so is an empty field.
  bool IsHeader() const {
    return fields_[0] == kLearnerTitle ||
           std::any_of(fields_.begin(), fields_.end(), [](std::string_view field) {
             return !field.empty() && !ParseNumber<double>(field);
           });
  }

  Result<void> Header() {
    table_.first_column = fields_[0] == kLearnerTitle ? 1 : 0;
    if (columns_ == table_.first_column) return At(columns_, "the table has no column of a class");
    for (size_t i = table_.first_column; i < columns_; ++i) table_.titles.emplace_back(fields_[i]);
    return {};
  }

  Result<void> Learner() {
    std::vector<uint64_t> row;
    bool any = false;
    for (size_t column = table_.first_column; column < columns_; ++column) {
      std::optional<uint32_t> count = ParseNumber<uint32_t>(fields_[column]);
      if (!count) {
        return At(column, Text(fields_[column].empty() ? std::string("the field is empty")
                                                       : "\"" + Shown(fields_[column]) + "\"",
                               ": a number of examples from 0 to ", UINT32_MAX, " is needed"));
      }
      any = any || *count > 0;
      row.push_back(*count);
    }
    if (!any) {
      return At(table_.first_column,
                Text("learner ", table_.counts.size(),
                     " would get no example of any class: give it one, or leave the line out"));
    }
    table_.counts.push_back(std::move(row));
    return {};
  }

  ClassTable table_;
  std::vector<std::string_view> fields_;  // of the current line
  size_t number_ = 0;                     // of the current line, from 1
  size_t columns_ = 0;                    // 0: before the first line
};

}  // namespace

Result<ClassTable> ReadClassTable(const std::string& file) {
  Result<ByteReader> reader = ByteReader::Open(file);
  if (!reader) return reader.error();
  TableParser parser(file);
  Result<void> read =
      ReadLines(*reader, [&](const TextLine& line) -> Result<void> { return parser.Line(line); });
  if (!read) return read.error();
  return std::move(parser).Finish();
}

Result<void> CheckTitles(const ClassTable& table, const Dataset& set) {
  const size_t common = std::min<size_t>(table.titles.size(), set.classes());
  for (uint32_t c = 0; c < common; ++c) {
    if (table.titles[c] == Text(c) || table.titles[c] == Unquoted(set.ClassName(c))) continue;
    return Invalid(Text(table.file, ": column ", table.first_column + c + 1, " is headed \"",
                        Shown(table.titles[c]), "\", but class ", c, " of ", set.name(), " is \"",
                        set.ClassName(c), "\": columns are in the order of the classes"));
  }
  return {};
}

std::string FormatClassTable(const std::vector<std::string>& titles,
                             std::span<const std::vector<uint64_t>> counts) {
  std::string text(kLearnerTitle);
  const size_t classes = counts.empty() ? titles.size() : counts[0].size();
  METIS_CHECK(titles.empty() || titles.size() == classes);
  for (size_t c = 0; c < classes; ++c) {
    const std::string plain = titles.empty() ? Text(c) : Unquoted(titles[c]);
    const bool quote = plain.find(',') != plain.npos || Trim(plain, " \t\r") != plain;
    text += quote ? Text(",\"", plain, "\"") : Text(",", plain);
  }
  text += "\n";
  for (size_t k = 0; k < counts.size(); ++k) {
    text += Text(k);
    for (uint64_t count : counts[k]) text += Text(",", count);
    text += "\n";
  }
  return text;
}

}  // namespace metis::data
