#include "metis/core/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "metis/core/random.h"

namespace metis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// How many doubles lie between two of the same sign.
uint64_t Ulps(double a, double b) {
  uint64_t x = std::bit_cast<uint64_t>(a), y = std::bit_cast<uint64_t>(b);
  return x > y ? x - y : y - x;
}

TEST(PortableMath, ExpIsWithinAFewUnitsInTheLastPlace) {
  Random random({.seed = 1, .purpose = Purpose::kTest});
  for (int i = 0; i < 200'000; ++i) {
    double x = i % 2 == 0 ? random.Uniform(-708, 709.78) : random.Uniform(-1, 1);
    EXPECT_LE(Ulps(PortableExp(x), std::exp(x)), 2u) << x;
  }
}

TEST(PortableMath, ExpAtTheEdges) {
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableExp(-0.0), 1);
  EXPECT_EQ(PortableExp(-kInfinity), 0);
  EXPECT_EQ(PortableExp(kInfinity), kInfinity);
  EXPECT_EQ(PortableExp(-746), 0);
  EXPECT_EQ(PortableExp(710), kInfinity);
  EXPECT_EQ(PortableExp(1e300), kInfinity);
  EXPECT_EQ(PortableExp(-1e300), 0);
  EXPECT_TRUE(std::isnan(PortableExp(kNan)));
  EXPECT_LE(Ulps(PortableExp(709.78), std::exp(709.78)), 2u);
  for (double x : {-709.0, -720.0, -740.0, -744.9}) {  // subnormal results
    EXPECT_LE(Ulps(PortableExp(x), std::exp(x)), 2u) << x;
  }
}

TEST(PortableMath, LogIsWithinAFewUnitsInTheLastPlace) {
  Random random({.seed = 2, .purpose = Purpose::kTest});
  for (int i = 0; i < 200'000; ++i) {
    // Any positive finite double, and those near 1, where the result is near 0.
    double x = i % 2 == 0 ? std::bit_cast<double>(random.Below(0x7ff0000000000000u))
                          : random.Uniform(0.5, 2);
    if (x == 0) continue;
    EXPECT_LE(Ulps(PortableLog(x), std::log(x)), 3u) << x;
  }
}

TEST(PortableMath, LogAtTheEdges) {
  EXPECT_EQ(PortableLog(1), 0);
  EXPECT_EQ(PortableLog(0), -kInfinity);
  EXPECT_EQ(PortableLog(-0.0), -kInfinity);
  EXPECT_EQ(PortableLog(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(PortableLog(-1)));
  EXPECT_TRUE(std::isnan(PortableLog(-kInfinity)));
  EXPECT_TRUE(std::isnan(PortableLog(kNan)));
  double least = std::numeric_limits<double>::denorm_min();
  EXPECT_LE(Ulps(PortableLog(least), std::log(least)), 3u);
  EXPECT_LE(Ulps(PortableLog(1 + 0x1p-52), std::log(1 + 0x1p-52)), 3u);
  EXPECT_LE(Ulps(PortableLog(1 - 0x1p-53), std::log(1 - 0x1p-53)), 3u);
}

TEST(PortableMath, PowIsAccurateInProportionToItsExponent) {
  Random random({.seed = 3, .purpose = Purpose::kTest});
  for (int i = 0; i < 100'000; ++i) {
    double x = random.Uniform(0, 1000);
    double y = random.Uniform(-20, 20);
    if (x == 0) continue;
    double exact = std::pow(x, y);
    double units = 4 + 3 * std::abs(y * std::log(x));
    EXPECT_LE(std::abs(PortablePow(x, y) - exact), units * 0x1p-52 * exact) << x << "^" << y;
  }
}

TEST(PortableMath, PowAtTheEdges) {
  EXPECT_EQ(PortablePow(0, 2), 0);
  EXPECT_EQ(PortablePow(1, 1e300), 1);
  EXPECT_EQ(PortablePow(5, 0), 1);
  EXPECT_EQ(PortablePow(2, 5000), kInfinity);
  EXPECT_EQ(PortablePow(2, -5000), 0);
  EXPECT_DOUBLE_EQ(PortablePow(4, 0.5), 2);
  EXPECT_DOUBLE_EQ(PortablePow(9, -1.5), 1.0 / 27);
}

// Every platform and compiler must give these very bits.
TEST(PortableMath, GoldenBits) {
  EXPECT_EQ(std::bit_cast<uint64_t>(PortableExp(-1.75)), 0x3fc63e397e022072u);
  EXPECT_EQ(std::bit_cast<uint64_t>(PortableExp(12.3)), 0x410ad17fe8ccf016u);
  EXPECT_EQ(std::bit_cast<uint64_t>(PortableLog(0.3)), 0xbff34378fcbda721u);
  EXPECT_EQ(std::bit_cast<uint64_t>(PortableLog(1990)), 0x401e6230f7727811u);
  EXPECT_EQ(std::bit_cast<uint64_t>(PortablePow(7, -1.5)), 0x3faba539079b6476u);
}

}  // namespace
}  // namespace metis
