// Amounts, dates and foreign text as people read them on a terminal or in a message. What is read
// back has forms of its own: Text() and FormatDuration(). Pure functions: any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metis {

// "840 bytes", "861 kB", "1.3 GB"
std::string FormatBytes(uint64_t bytes);

// "4.2 s", "42 s", "3.5 min", "2.1 h", "3.0 d"
std::string FormatSeconds(double seconds);

// Seconds of the calendar as "2024-05-17T09:30:00Z".
std::string FormatUtc(int64_t seconds);

// Text that anybody may have made, safe for a terminal: control characters as '?'.
std::string Printable(std::string_view text);
std::string PrintableLines(std::string_view text);  // the same, but lines stay lines

}  // namespace metis
