// Time as types: an Instant on some driver's clock and the Duration between two of them.
// The federation logic never asks for the time; it is given an Instant with every event. Virtual in
// simulation, monotonic over the network. Nanoseconds in 64 bits: 292 years.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "metis/core/result.h"

namespace metis {

class Duration {
 public:
  constexpr Duration() = default;

  static constexpr Duration Nanoseconds(int64_t n) { return Duration(n); }
  static constexpr Duration Microseconds(int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration Milliseconds(int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration Seconds(int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration Minutes(int64_t n) { return Seconds(60 * n); }
  static constexpr Duration Hours(int64_t n) { return Seconds(3600 * n); }
  // Rounds to the nearest nanosecond; `seconds` must be within +-9e9.
  static Duration FromSeconds(double seconds);
  // Longer than any run; still leaves room to be added to an Instant of any run.
  static constexpr Duration Forever() { return Hours(24 * 365 * 100); }

  constexpr int64_t nanoseconds() const { return ns_; }
  constexpr double seconds() const { return static_cast<double>(ns_) * 1e-9; }
  constexpr bool IsZero() const { return ns_ == 0; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(int64_t n, Duration d) { return Duration(n * d.ns_); }
  friend constexpr Duration operator/(Duration d, int64_t n) { return Duration(d.ns_ / n); }

 private:
  constexpr explicit Duration(int64_t ns) : ns_(ns) {}

  int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant FromNanoseconds(int64_t n) { return Instant(n); }

  constexpr int64_t nanoseconds() const { return ns_; }
  // Since the clock's origin (in simulation: since the start of the run).
  constexpr double seconds() const { return static_cast<double>(ns_) * 1e-9; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) {
    return Instant(t.ns_ + d.nanoseconds());
  }
  friend constexpr Instant operator-(Instant t, Duration d) {
    return Instant(t.ns_ - d.nanoseconds());
  }
  friend constexpr Duration operator-(Instant a, Instant b) {
    return Duration::Nanoseconds(a.ns_ - b.ns_);
  }

 private:
  constexpr explicit Instant(int64_t ns) : ns_(ns) {}

  int64_t ns_ = 0;
};

// "250ms", "90s", "4h": the largest unit of h, min, s, ms, us, ns in which it is a whole number.
// ParseDuration() reads it back to the same nanosecond.
std::string FormatDuration(Duration duration);

// Reads "1.5h", "90 s", "100ms", "0s". Units: ns, us, ms, s, min (or m), h, d. Negative, unit-less
// or overlong text is an error that names the text and the units.
Result<Duration> ParseDuration(std::string_view text);

}  // namespace metis
