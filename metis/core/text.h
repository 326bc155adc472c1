// Building messages from values: Text("model has ", n, " tensors"). Doubles are written shortest
// such that they read back equal; ids and durations as their value.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/time.h"

namespace metis {

namespace text_internal {
void Append(std::string& out, std::string_view piece);
void Append(std::string& out, bool value);
void Append(std::string& out, int64_t value);
void Append(std::string& out, uint64_t value);
void Append(std::string& out, double value);
void Append(std::string& out, Duration value);

template <typename T>
void AppendAny(std::string& out, const T& value) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    Append(out, std::string_view(value));
  } else if constexpr (std::same_as<T, char>) {
    out.push_back(value);
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, Duration>) {
    Append(out, value);
  } else if constexpr (std::signed_integral<T>) {
    Append(out, static_cast<int64_t>(value));
  } else if constexpr (std::unsigned_integral<T>) {
    Append(out, static_cast<uint64_t>(value));
  } else if constexpr (std::floating_point<T>) {
    Append(out, static_cast<double>(value));
  } else {
    Append(out, static_cast<uint64_t>(value.value()));  // a StrongId
  }
}
}  // namespace text_internal

template <typename... Pieces>
std::string Text(const Pieces&... pieces) {
  std::string out;
  (text_internal::AppendAny(out, pieces), ...);
  return out;
}

// "a, b, c"
std::string Join(const std::vector<std::string>& pieces, std::string_view separator = ", ");

// The pieces between the separators, as they are: "a,,b" has an empty one, "" is one empty piece.
// Views into `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Without the characters of `around` at both ends.
std::string_view Trim(std::string_view text, std::string_view around = " ");

// The candidate that is fewest edits away from `word`, if it is close enough to be a slip of the
// keyboard; else empty. For "did you mean ...?".
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// The number as `digits` places after the point: Fixed(0.8412, 3) is "0.841".
std::string Fixed(double value, int digits);

}  // namespace metis
