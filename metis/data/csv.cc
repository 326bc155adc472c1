#include "metis/data/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/data/byte_reader.h"
#include "metis/data/fields.h"

namespace metis::data {
namespace {

// As people write numbers: with a plus sign, too.
template <typename T>
std::optional<T> ParseSigned(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseNumber<T>(text);
}

class CsvParser {
 public:
  CsvParser(const std::string& path, const CsvOptions& options) : path_(path), options_(options) {
    parts_.name = options.name.empty() ? path : options.name;
    parts_.classes = options.classes;
  }

  Result<void> Line(const TextLine& line) {
    number_ = line.number;
    if (Result<void> split = SplitFields(line.text, path_, number_, fields_); !split) return split;
    if (fields_.size() == 1 && fields_[0].empty()) return {};
    if (columns_ == 0) return First();
    if (fields_.size() != columns_) {
      return At(fields_.size(),
                Text("the line has ", fields_.size(), " columns, the first line ", columns_));
    }
    return Example();
  }

  Result<Dataset> Finish() && {
    if (parts_.labels.empty()) return Invalid(path_ + ": the file has no examples");
    return Dataset::Make(std::move(parts_));
  }

 private:
  Error At(size_t column, std::string_view message) const {
    return AtField(path_, number_, column, message);
  }

  // The first line fixes the columns; it is a header unless all of it are numbers.
  Result<void> First() {
    columns_ = fields_.size();
    if (columns_ < 2) {
      return At(0, "a line needs at least one feature and a label, separated by a comma");
    }
    if (columns_ - 1 > kMostValuesPerExample) {
      return At(0, Text("at most ", kMostValuesPerExample, " features are possible"));
    }
    parts_.shape = {1, 1, static_cast<uint32_t>(columns_ - 1)};
    label_ = columns_ - 1;
    bool header = std::any_of(fields_.begin(), fields_.end(), [](std::string_view field) {
      return !field.empty() && !ParseSigned<double>(field);
    });
    if (!options_.label_column.empty()) {
      auto named = std::find(fields_.begin(), fields_.end(), options_.label_column);
      if (!header || named == fields_.end()) {
        return At(0, Text("there is no column \"", options_.label_column, "\"",
                          header ? "" : ": the file has no header"));
      }
      label_ = static_cast<size_t>(named - fields_.begin());
    }
    if (header) return {};
    return Example();
  }

  Result<void> Example() {
    for (size_t column = 0; column < fields_.size(); ++column) {
      std::string_view field = fields_[column];
      if (column == label_) continue;
      std::optional<double> value = ParseSigned<double>(field);
      if (!value || !(std::abs(*value) <= std::numeric_limits<float>::max())) {
        return At(column, field.empty() ? "the field is empty: a number is needed"
                                        : Text("\"", Shown(field), "\" is not a finite number"));
      }
      parts_.features.push_back(static_cast<float>(*value));
    }
    std::optional<uint32_t> label = ParseSigned<uint32_t>(fields_[label_]);
    uint32_t classes = options_.classes == 0 ? kMostClasses : options_.classes;
    if (!label || *label >= classes) {
      return At(label_, Text("label \"", Shown(fields_[label_]),
                             "\": classes are whole numbers from 0 to ", classes - 1));
    }
    if (parts_.labels.size() == kMostExamples) return At(0, "there are too many examples");
    parts_.labels.push_back(*label);
    return {};
  }

  const std::string& path_;
  const CsvOptions& options_;
  DatasetParts parts_;
  std::vector<std::string_view> fields_;  // of the current line
  size_t number_ = 0;                     // of the current line, from 1
  size_t columns_ = 0;                    // 0: before the first line
  size_t label_ = 0;
};

}  // namespace

Result<Dataset> ReadCsv(const std::string& path, const CsvOptions& options) {
  Result<ByteReader> file = ByteReader::Open(path);
  if (!file) return file.error();
  CsvParser parser(path, options);
  Result<void> read =
      ReadLines(*file, [&](const TextLine& line) -> Result<void> { return parser.Line(line); });
  if (!read) return read.error();
  return std::move(parser).Finish();
}

}  // namespace metis::data
