// Numbers as people and files write them. Pure functions: any thread may call them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace metis {

// The whole of `text` as a decimal number, else nothing: no spaces, no plus sign, no unit, nothing
// that does not fit into T; no minus sign where T is unsigned. For floating point also "inf" and
// "nan", which the caller's bounds must refuse.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace metis
