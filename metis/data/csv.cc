#include "metis/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "metis/core/text.h"
#include "metis/data/byte_reader.h"

namespace metis::data {
namespace {

constexpr size_t kLongestLine = size_t{1} << 26;  // bytes; a file without line ends is no CSV

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// A field as it is shown in a message: binary rubbish must not fill the screen.
std::string Shown(std::string_view field) {
  std::string shown;
  for (char c : field.substr(0, 40)) shown.push_back(c >= ' ' && c <= '~' ? c : '?');
  return field.size() > 40 ? shown + "..." : shown;
}

class Parser {
 public:
  Parser(const std::string& path, const CsvOptions& options) : path_(path), options_(options) {
    parts_.name = options.name.empty() ? path : options.name;
    parts_.classes = options.classes;
  }

  Result<void> Line(std::string_view line) {
    ++number_;
    if (number_ == 1 && line.starts_with("\xef\xbb\xbf"))
      line.remove_prefix(3);  // a byte order mark
    if (Trim(line).empty()) return {};
    if (Result<void> split = Split(line); !split) return split;
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
  // `column` counts from 0, as people see it from 1.
  Error At(size_t column, std::string_view message) const {
    return Invalid(Text(path_, ": line ", number_, ", column ", column + 1, ": ", message));
  }

  Result<void> Split(std::string_view line) {
    fields_.clear();
    for (bool more = true; more;) {
      std::string_view rest = Trim(line);
      size_t end;
      if (rest.starts_with('"')) {
        size_t close = rest.find('"', 1);
        if (close == rest.npos) return At(fields_.size(), "the quote is not closed on this line");
        std::string_view after = rest.substr(close + 1);
        end = after.find(',');
        if (!Trim(after.substr(0, end)).empty()) {
          return At(fields_.size(), "text follows the closing quote");
        }
        fields_.push_back(rest.substr(1, close - 1));
        line = after;
      } else {
        end = line.find(',');
        fields_.push_back(Trim(line.substr(0, end)));
      }
      more = end != line.npos;
      if (more) line.remove_prefix(end + 1);
    }
    return {};
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
      return !field.empty() && !ParseNumber<double>(field);
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
      std::optional<double> value = ParseNumber<double>(field);
      if (!value || !(std::abs(*value) <= std::numeric_limits<float>::max())) {
        return At(column, field.empty() ? "the field is empty: a number is needed"
                                        : Text("\"", Shown(field), "\" is not a finite number"));
      }
      parts_.features.push_back(static_cast<float>(*value));
    }
    std::optional<uint32_t> label = ParseNumber<uint32_t>(fields_[label_]);
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
  Parser parser(path, options);
  std::string line;
  std::vector<uint8_t> chunk(size_t{1} << 16);
  for (size_t got = chunk.size(); got == chunk.size();) {
    Result<size_t> read = file->ReadSome(chunk);
    if (!read) return read.error();
    got = *read;
    std::string_view text(reinterpret_cast<const char*>(chunk.data()), got);
    for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
      line.append(text.substr(0, end));
      if (Result<void> parsed = parser.Line(line); !parsed) return parsed.error();
      line.clear();
      text.remove_prefix(end + 1);
    }
    line.append(text);
    if (line.size() > kLongestLine) {
      return file->At(file->offset(),
                      Text("a line of more than ", kLongestLine, " bytes: is this a text file?"));
    }
  }
  if (!line.empty()) {  // the last line may lack its end
    if (Result<void> parsed = parser.Line(line); !parsed) return parsed.error();
  }
  return std::move(parser).Finish();
}

}  // namespace metis::data
