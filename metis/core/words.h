// Numbers and strangers' texts as people are shown them, on a terminal or in a drawing. Pure
// functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metis {

// "14,000"; with another separator "14 000".
std::string Grouped(uint64_t number, std::string_view separator = ",");

// "840 bytes", "861 kB", "1.3 GB"
std::string FormatBytes(uint64_t bytes);

// Text that anybody may have made, safe for a terminal: control characters as '?'.
std::string Printable(std::string_view text);
std::string PrintableLines(std::string_view text);  // the same, but lines stay lines

}  // namespace metis
