// The fields of a line of CSV, and numbers in text: what all readers of text share. Pure functions:
// any thread may call them.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

// The whole of `text` as a number, else nothing.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Without spaces and tabs around it, and without a carriage return at its end.
std::string_view Trim(std::string_view text);

// A field as it is shown in a message: binary rubbish must not fill the screen.
std::string Shown(std::string_view field);

// An error at a place that people count from 1: "FILE: line 2, column 3: message". `column` counts
// from 0.
Error AtField(std::string_view path, size_t line, size_t column, std::string_view message);

// Replaces `fields` by those of the line: commas between them, each trimmed or in double quotes,
// within which a comma is text. They are views into `line`; `path` and `number` are for messages. A
// byte order mark at the beginning of line 1 is passed over.
Result<void> SplitFields(std::string_view line, std::string_view path, size_t number,
                         std::vector<std::string_view>& fields);

}  // namespace metis::data
