#include "metis/core/int128.h"

#include <algorithm>

namespace metis {

std::string ToText(Int128 value) {
  const bool negative = value < 0;
  std::string digits;
  do {  // digit by digit with its sign: the least number has no opposite
    const int digit = static_cast<int>(value % 10);
    digits.push_back(static_cast<char>('0' + (negative ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::optional<Int128> Int128FromText(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  Int128 value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    const Int128 step = negative ? '0' - digit : digit - '0';
    if (__builtin_mul_overflow(value, Int128{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, step, &value)) return std::nullopt;
  }
  return value;
}

}  // namespace metis
