#include "metis/core/time.h"

#include <array>
#include <charconv>
#include <cmath>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis {
namespace {

struct Unit {
  std::string_view name;
  int64_t nanoseconds;
};

// Largest first; "m" and "d" are read, never written.
constexpr std::array<Unit, 8> kUnits = {{{"d", 86'400'000'000'000},
                                         {"h", 3'600'000'000'000},
                                         {"min", 60'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};

}  // namespace

Duration Duration::FromSeconds(double seconds) {
  METIS_CHECK(seconds > -9e9 && seconds < 9e9);
  return Duration(static_cast<int64_t>(std::nearbyint(seconds * 1e9)));
}

std::string FormatDuration(Duration duration) {
  int64_t ns = duration.nanoseconds();
  if (ns == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (unit.name == "d" || unit.name == "m") continue;
    if (ns % unit.nanoseconds == 0) return Text(ns / unit.nanoseconds, unit.name);
  }
  METIS_CHECK(false);
}

Result<Duration> ParseDuration(std::string_view text) {
  auto bad = [&](std::string_view why) {
    return Invalid(Text("\"", text, "\" is no duration: ", why,
                        "; write a number and a unit, e.g. \"90s\", \"1.5h\" or \"100ms\" "
                        "(ns, us, ms, s, min, h, d)"));
  };
  double number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return bad("it has no number");
  std::string_view unit_text(rest, static_cast<size_t>(text.data() + text.size() - rest));
  while (!unit_text.empty() && unit_text.front() == ' ') unit_text.remove_prefix(1);
  if (number < 0) return bad("it is negative");
  if (unit_text.empty()) return bad("the unit is missing");
  for (const Unit& unit : kUnits) {
    if (unit_text != unit.name) continue;
    double ns = number * static_cast<double>(unit.nanoseconds);
    if (ns > static_cast<double>(Duration::Forever().nanoseconds())) {
      return bad("it is longer than 100 years");
    }
    // A double holds whole nanoseconds up to 104 days only; a whole number is read as one.
    int64_t whole = 0;
    auto [end, not_whole] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (not_whole == std::errc() && end == rest) {
      return Duration::Nanoseconds(whole * unit.nanoseconds);
    }
    return Duration::Nanoseconds(static_cast<int64_t>(std::nearbyint(ns)));
  }
  return bad(Text("\"", unit_text, "\" is no unit"));
}

}  // namespace metis
