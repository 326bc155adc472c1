#include "metis/wire/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "metis/core/random.h"

namespace metis::wire {
namespace {

constexpr uint32_t kHalves = 65'536;

std::vector<uint16_t> Encoded(const HalfKernels& kernels, const std::vector<float>& values) {
  std::vector<uint16_t> halves(values.size());
  kernels.encode(values.data(), std::as_writable_bytes(std::span(halves)).data(), values.size());
  return halves;
}

std::vector<float> Decoded(const HalfKernels& kernels, const std::vector<uint16_t>& halves) {
  std::vector<float> values(halves.size());
  kernels.decode(std::as_bytes(std::span(halves)).data(), values.data(), values.size());
  return values;
}

std::vector<uint16_t> AllHalves() {
  std::vector<uint16_t> halves;
  for (uint32_t half = 0; half < kHalves; ++half) halves.push_back(static_cast<uint16_t>(half));
  return halves;
}

// What is written here of IEEE 754: sign, exponent of bias 15, 10 bits of mantissa.
double ValueOf(uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int mantissa = half & 0x3ff;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// The nearest half, ties to even, computed in double: exact for every float.
double Rounded(float value) {
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = 0.5..1 * 2^exponent
  const int last_place = std::max(exponent - 11, -24);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last_place)), last_place);
  return std::abs(rounded) >= 65'536 ? std::copysign(HUGE_VAL, value) : rounded;
}

bool IsSame(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

// Every half, the points between two, and what lies just beside them; the edges of float; draws of
// random bits.
std::vector<float> ManyFloats() {
  std::vector<float> values;
  for (uint16_t half : AllHalves()) {
    const auto value = static_cast<float>(ValueOf(half));
    const auto next = static_cast<float>(ValueOf(static_cast<uint16_t>(half + 1)));
    const float middle = std::isfinite(next) ? (value + next) / 2 : std::copysign(65'520.0f, value);
    for (float near : {value, middle}) {
      values.push_back(near);
      values.push_back(std::nextafter(near, HUGE_VALF));
      values.push_back(std::nextafter(near, -HUGE_VALF));
    }
  }
  using Limits = std::numeric_limits<float>;
  for (float edge : {Limits::max(), Limits::min(), Limits::denorm_min(), Limits::infinity(),
                     Limits::quiet_NaN(), Limits::signaling_NaN()}) {
    values.push_back(edge);
    values.push_back(-edge);
  }
  Random random({.seed = 16});
  for (int draw = 0; draw < 1'000'000; ++draw) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random.Next())));
  }
  return values;
}

TEST(Half, DecodesEveryHalfToItsValue) {
  const std::vector<uint16_t> halves = AllHalves();
  const std::vector<float> values = Decoded(PortableHalves(), halves);
  for (uint32_t i = 0; i < kHalves; ++i) {
    ASSERT_TRUE(IsSame(values[i], ValueOf(halves[i]))) << "half " << i << ": " << values[i];
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  const std::vector<float> values = ManyFloats();
  const std::vector<uint16_t> halves = Encoded(PortableHalves(), values);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(IsSame(ValueOf(halves[i]), Rounded(values[i])))
        << values[i] << " became half " << halves[i];
  }
}

TEST(Half, SurvivesThereAndBackUnlessANanMustBecomeQuiet) {
  const std::vector<uint16_t> halves = AllHalves();
  const std::vector<uint16_t> again = Encoded(PortableHalves(), Decoded(PortableHalves(), halves));
  for (uint32_t i = 0; i < kHalves; ++i) {
    const bool nan = std::isnan(ValueOf(halves[i]));
    ASSERT_EQ(again[i], nan ? halves[i] | 0x200 : halves[i]) << "half " << i;
  }
}

TEST(Half, HasTheSameBitsOnEveryCpu) {
  SCOPED_TRACE(BestHalves().name);
  const std::vector<float> values = ManyFloats();
  EXPECT_EQ(Encoded(BestHalves(), values), Encoded(PortableHalves(), values));
  const std::vector<uint16_t> halves = AllHalves();
  const std::vector<float> best = Decoded(BestHalves(), halves);
  const std::vector<float> portable = Decoded(PortableHalves(), halves);
  EXPECT_EQ(std::memcmp(best.data(), portable.data(), kHalves * sizeof(float)), 0);
}

TEST(Half, TakesAnyNumberOfValuesAtAnyAddress) {
  Random random({.seed = 17});
  for (size_t count = 0; count < 40; ++count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random.Normal());
    const std::vector<uint16_t> wanted = Encoded(PortableHalves(), values);
    for (size_t shift = 0; shift < 2; ++shift) {
      std::vector<std::byte> halves(shift + count * kHalfBytes + 1, std::byte{0x5a});
      const auto part = std::span(halves).subspan(shift, count * kHalfBytes);
      EncodeHalves(values, part);
      EXPECT_TRUE(std::ranges::equal(part, std::as_bytes(std::span(wanted)))) << count;
      EXPECT_EQ(halves.back(), std::byte{0x5a}) << count << ": wrote beyond the end";
      std::vector<float> back(count + 1, 7);
      DecodeHalves(part, std::span(back).first(count));
      EXPECT_EQ(back.back(), 7) << count << ": wrote beyond the end";
      back.pop_back();
      EXPECT_EQ(back, Decoded(PortableHalves(), wanted)) << count;
    }
  }
}

}  // namespace
}  // namespace metis::wire
