// A configuration file as written: sections of keys and plain values, each with its place.
// The seam to toml++: nothing else knows of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "metis/core/result.h"

namespace metis::config {

// Where a value was written. Places of a file are ordered by line; the command line comes after.
struct Place {
  std::string text;  // "federation.toml:12" or "--set stop.rounds=3"
  uint32_t line = std::numeric_limits<uint32_t>::max();
};

struct Value {
  // monostate: a date, an array or a table, which no key takes.
  std::variant<std::monostate, bool, int64_t, double, std::string> data;
  std::string written;  // for messages: "ten" with its quotes, 0.5, an array
  Place place;

  const std::string* text() const { return std::get_if<std::string>(&data); }
};

struct Entry {
  std::string key;
  Value value;
};

struct DocumentSection {
  std::string name;
  bool repeated = false;  // [[name]]
  Place place;
  std::vector<Entry> entries;  // by line
};

struct Document {
  std::vector<DocumentSection> sections;  // by line
  std::vector<Entry> loose;               // keys outside of any section
};

enum class DottedKeys {
  kTables,  // "a.b = 1" within a section is a table a, as TOML says
  kPaths,   // it is a key called "a.b"
};
// Fails at the first error of syntax (a duplicate key is one), with its line.
Result<Document> ParseDocument(std::string_view text, std::string_view source_name,
                               DottedKeys dotted = DottedKeys::kTables);

// A value as typed on the command line: true, 4, 0.5, "text" and text are what they look like.
Value ScanValue(std::string_view text, Place place);

// The text as a TOML string: quoted, with what TOML wants escaped.
std::string Quoted(std::string_view text);

// Whether these are whole characters of UTF-8 (RFC 3629), as JSON and TOML want them.
bool IsUtf8(std::string_view text);

}  // namespace metis::config
