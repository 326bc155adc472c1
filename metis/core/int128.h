// Whole numbers of 128 bits, for sums that must stay exact beyond 2^63, and their decimal text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace metis {

__extension__ using Int128 = __int128;

std::string ToText(Int128 value);
// Empty for anything but an optional '-' and digits, and for a number beyond 128 bits.
std::optional<Int128> Int128FromText(std::string_view text);

constexpr uint64_t LowWord(Int128 value) { return static_cast<uint64_t>(value); }
constexpr int64_t HighWord(Int128 value) { return static_cast<int64_t>(value >> 64); }
constexpr Int128 FromWords(int64_t high, uint64_t low) {
  return static_cast<Int128>(high) * (static_cast<Int128>(1) << 64) + static_cast<Int128>(low);
}

}  // namespace metis
