#include "metis/config/document.h"

#include <algorithm>
#include <optional>

#include "metis/core/number.h"
#include "metis/core/text.h"

namespace {
struct ParserBroke {};
[[noreturn]] void ReportParserBroke() { throw ParserBroke(); }
}  // namespace

// toml++ 3.3 has inputs ("[=]") that it guards against by assertions only: it would abort, or go on
// with undefined behaviour where NDEBUG is set. So its assertions stay on, and throw.
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : ReportParserBroke())
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace metis::config {
namespace {

Place PlaceOf(std::string_view source_name, const toml::source_region& region) {
  return {Text(source_name, ":", region.begin.line), region.begin.line};
}

Value ValueOf(const toml::node& node, Place place) {
  Value value{.data = {}, .written = "", .place = std::move(place)};
  if (const auto* text = node.as_string()) {
    value.data = text->get();
    value.written = Quoted(text->get());
  } else if (const auto* whole = node.as_integer()) {
    value.data = whole->get();
    value.written = Text(whole->get());
  } else if (const auto* number = node.as_floating_point()) {
    value.data = number->get();
    value.written = Text(number->get());
  } else if (const auto* flag = node.as_boolean()) {
    value.data = flag->get();
    value.written = Text(flag->get());
  } else if (node.is_array()) {
    value.written = "an array";
  } else if (node.is_table()) {
    value.written = "a table";
  } else {
    value.written = "a date";
  }
  return value;
}

void AppendEntries(const toml::table& table, std::string_view source_name, DottedKeys dotted,
                   const std::string& prefix, std::vector<Entry>& entries) {
  for (auto&& [key, node] : table) {
    const std::string path = Text(prefix, key.str());
    const toml::table* below = node.as_table();
    if (below != nullptr && dotted == DottedKeys::kPaths) {
      AppendEntries(*below, source_name, dotted, path + ".", entries);
    } else {
      entries.push_back({path, ValueOf(node, PlaceOf(source_name, key.source()))});
    }
  }
}

std::vector<Entry> EntriesOf(const toml::table& table, std::string_view source_name,
                             DottedKeys dotted) {
  std::vector<Entry> entries;
  AppendEntries(table, source_name, dotted, "", entries);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.value.place.line < b.value.place.line;
  });
  return entries;
}

bool IsArrayOfTables(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (!array || array->empty()) return false;
  return std::all_of(array->begin(), array->end(),
                     [](const toml::node& e) { return e.is_table(); });
}

// Nothing where the parser breaks one of its own assertions.
std::optional<toml::parse_result> TryToParse(std::string_view text, std::string_view source_name) {
  try {
    return toml::parse(text, source_name);
  } catch (const ParserBroke&) {
    return std::nullopt;
  }
}

// The line at which the parser breaks: it reads on from line to line, so all shorter texts are
// fine.
size_t BreakingLine(std::string_view text) {
  std::vector<size_t> ends;  // of each line
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
    ends.push_back(end + 1);
  }
  auto first = std::partition_point(ends.begin(), ends.end(), [&](size_t end) {
    return TryToParse(text.substr(0, end), "").has_value();
  });
  return static_cast<size_t>(first - ends.begin()) + 1;
}

}  // namespace

Result<Document> ParseDocument(std::string_view text, std::string_view source_name,
                               DottedKeys dotted) {
  std::optional<toml::parse_result> result = TryToParse(text, source_name);
  if (!result) {
    return Invalid(Text(source_name, ":", BreakingLine(text),
                        ": this is no TOML: the line can't be understood"));
  }
  const toml::parse_result& parsed = *result;
  if (!parsed) {
    return Invalid(Text(PlaceOf(source_name, parsed.error().source()).text,
                        ": this is no TOML: ", parsed.error().description()));
  }
  Document document;
  for (auto&& [key, node] : parsed.table()) {
    std::string name(key.str());
    if (const toml::table* table = node.as_table()) {
      document.sections.push_back({.name = name,
                                   .repeated = false,
                                   .place = PlaceOf(source_name, key.source()),
                                   .entries = EntriesOf(*table, source_name, dotted)});
    } else if (IsArrayOfTables(node)) {
      for (const toml::node& element : *node.as_array()) {
        document.sections.push_back(
            {.name = name,
             .repeated = true,
             .place = PlaceOf(source_name, element.source()),
             .entries = EntriesOf(*element.as_table(), source_name, dotted)});
      }
    } else {
      document.loose.push_back({name, ValueOf(node, PlaceOf(source_name, key.source()))});
    }
  }
  std::stable_sort(document.sections.begin(), document.sections.end(),
                   [](const DocumentSection& a, const DocumentSection& b) {
                     return a.place.line < b.place.line;
                   });
  return document;
}

Value ScanValue(std::string_view text, Place place) {
  Value value{.data = {}, .written = std::string(text), .place = std::move(place)};
  if (text == "true" || text == "false") {
    value.data = text == "true";
  } else if (const std::optional<int64_t> whole = ParseNumber<int64_t>(text)) {
    value.data = *whole;
  } else if (const std::optional<double> number = ParseNumber<double>(text)) {
    value.data = *number;
  } else {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
      text = text.substr(1, text.size() - 2);
    }
    value.data = std::string(text);
    value.written = Quoted(text);
  }
  return value;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += Text("\\u00", kDigits[byte / 16], kDigits[byte % 16]);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
    const uint32_t lead = byte(0);
    const size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length == 0 || length > text.size() - i) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (size_t k = 1; k < length; ++k) {
      if ((byte(k) & 0xC0) != 0x80) return false;
      code = code << 6 | (byte(k) & 0x3F);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // what fits fewer bytes has fewer
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    if (lead > 0xF4 || code < kLeast[length - 1] || code > 0x10FFFF || surrogate) return false;
    i += length;
  }
  return true;
}

}  // namespace metis::config
