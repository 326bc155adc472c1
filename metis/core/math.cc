#include "metis/core/math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace metis {
namespace {

// ln 2 in two parts: the high one has its last 21 bits zero, so that k * kLn2High is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// Adding and subtracting it rounds to the nearest integer: doubles of its size have no fraction
// bits.
constexpr double kRounder = 0x1.8p52;

// 2^k for the normal exponents, -1022 <= k <= 1023.
double PowerOfTwo(int k) { return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52); }

// x * 2^k, in two steps where 2^k itself is no normal number.
double Scale(double x, int k) {
  if (k > 1023) return x * PowerOfTwo(1023) * PowerOfTwo(k - 1023);
  if (k < -1022) return x * PowerOfTwo(-1022) * PowerOfTwo(k + 1022);
  return x * PowerOfTwo(k);
}

// 1/n!, exactly rounded: n! is an exact double up to 18!.
constexpr std::array<double, 14> kInverseFactorials = [] {
  std::array<double, 14> inverse{};
  double factorial = 1;
  for (size_t n = 0; n < inverse.size(); ++n) {
    if (n > 0) factorial *= static_cast<double>(n);
    inverse[n] = 1 / factorial;
  }
  return inverse;
}();

// 1, 1/3, 1/5, ... 1/23.
constexpr std::array<double, 12> kInverseOdds = [] {
  std::array<double, 12> inverse{};
  for (size_t n = 0; n < inverse.size(); ++n) inverse[n] = 1.0 / static_cast<double>(2 * n + 1);
  return inverse;
}();

}  // namespace

double PortableExp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.0) return 0;
  // x = k ln 2 + r with |r| <= ln 2 / 2, and e^r by its series: r^14/14! is below the last bit.
  double k = (x * 1.4426950408889634 + kRounder) - kRounder;
  double r = (x - k * kLn2High) - k * kLn2Low;
  // Even and odd powers side by side: half as long a chain of dependent operations.
  double r2 = r * r;
  double even = kInverseFactorials[12];
  double odd = kInverseFactorials[13];
  for (size_t n = 12; n > 0; n -= 2) {
    even = even * r2 + kInverseFactorials[n - 2];
    odd = odd * r2 + kInverseFactorials[n - 1];
  }
  return Scale(even + odd * r, static_cast<int>(k));
}

double PortableLog(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= PowerOfTwo(54);
    exponent = -54;
  }
  uint64_t bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 atanh(s) with s = (m-1)/(m+1), |s| <= 0.1716: s^23 is below the last bit.
  double s = (m - 1) / (m + 1);
  double s2 = s * s;
  double series = 0;
  for (size_t n = 12; n-- > 0;) series = series * s2 + kInverseOdds[n];
  return exponent * kLn2High + (2 * s * series + exponent * kLn2Low);
}

double PortablePow(double x, double y) { return x == 0 ? 0 : PortableExp(y * PortableLog(x)); }

}  // namespace metis
