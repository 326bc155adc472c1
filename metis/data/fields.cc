#include "metis/data/fields.h"

#include "metis/core/text.h"

namespace metis::data {
namespace {

std::string_view TrimField(std::string_view text) { return Trim(text, " \t\r"); }

}  // namespace

std::string Shown(std::string_view field) {
  std::string shown;
  for (char c : field.substr(0, 40)) shown.push_back(c >= ' ' && c <= '~' ? c : '?');
  return field.size() > 40 ? shown + "..." : shown;
}

Error AtField(std::string_view path, size_t line, size_t column, std::string_view message) {
  return Invalid(Text(path, ": line ", line, ", column ", column + 1, ": ", message));
}

Result<void> SplitFields(std::string_view line, std::string_view path, size_t number,
                         std::vector<std::string_view>& fields) {
  fields.clear();
  if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  for (bool more = true; more;) {
    std::string_view rest = TrimField(line);
    size_t end;
    if (rest.starts_with('"')) {
      size_t close = rest.find('"', 1);
      if (close == rest.npos) {
        return AtField(path, number, fields.size(), "the quote is not closed on this line");
      }
      std::string_view after = rest.substr(close + 1);
      end = after.find(',');
      if (!TrimField(after.substr(0, end)).empty()) {
        return AtField(path, number, fields.size(), "text follows the closing quote");
      }
      fields.push_back(rest.substr(1, close - 1));
      line = after;
    } else {
      end = line.find(',');
      fields.push_back(TrimField(line.substr(0, end)));
    }
    more = end != line.npos;
    if (more) line.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace metis::data
