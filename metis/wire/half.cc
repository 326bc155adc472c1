#include "metis/wire/half.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "metis/core/check.h"
#include "metis/wire/half_internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace metis::wire {

namespace {

static_assert(std::endian::native == std::endian::little,
              "models travel as they lie in memory, and that is little-endian on the wire");

constexpr uint32_t kExponentShift = 13;          // from the mantissa of a float to that of a half
constexpr uint32_t kBiasGap = (127 - 15) << 23;  // between the exponents, at a float's place
constexpr uint32_t kFloatInfinity = 0x7f800000;
constexpr uint32_t kHalfInfinity = 0x7c00;
constexpr uint32_t kHalfQuiet = 0x200;
constexpr uint32_t kSmallestNormal = 0x38800000;  // 2^-14, the least half that is not subnormal

// Selects instead of branches: compilers make vector code of the loops below.
uint16_t ToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  // Half of the last place kept, less one if it is even, carries into the exponent where it must.
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> kExponentShift) & 1);
  const uint32_t normal = (rounded - kBiasGap) >> kExponentShift;
  // The last place of 0.5f is 2^-24, that of a subnormal half: the addition rounds to it.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                             std::bit_cast<uint32_t>(0.5f);
  const uint32_t nan = kHalfInfinity | kHalfQuiet | ((magnitude >> kExponentShift) & 0x3ff);
  uint32_t half = magnitude < kSmallestNormal ? subnormal : normal;
  half = magnitude >= 0x47800000 ? kHalfInfinity : half;  // 2^16 and beyond
  half = magnitude > kFloatInfinity ? nan : half;
  return static_cast<uint16_t>(sign | half);
}

float FromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  const uint32_t normal = (magnitude << kExponentShift) + kBiasGap;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t quiet = magnitude > kHalfInfinity ? kHalfQuiet << kExponentShift : 0;
  uint32_t bits = magnitude < 0x400 ? subnormal : normal;
  bits = magnitude >= kHalfInfinity ? (normal + kBiasGap) | quiet : bits;
  return std::bit_cast<float>(sign | bits);
}

void Encode(const float* values, std::byte* halves, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint16_t half = ToHalf(values[i]);
    std::memcpy(halves + i * kHalfBytes, &half, kHalfBytes);
  }
}

void Decode(const std::byte* halves, float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, halves + i * kHalfBytes, kHalfBytes);
    values[i] = FromHalf(half);
  }
}

constexpr HalfKernels kPortable = {"portable", Encode, Decode};

#if defined(__x86_64__)
// The question for AVX asks the operating system too, which must save the wide registers. clang 14
// does not know the name of F16C: the CPU is asked itself.
bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
         (c & bit_F16C) != 0;
}
#endif

const HalfKernels& Choose() {
#if defined(__x86_64__)
  if (HasF16c()) return kF16cHalves;
#endif
  return kPortable;
}

}  // namespace

const HalfKernels& PortableHalves() { return kPortable; }

const HalfKernels& BestHalves() {
  static const HalfKernels& best = Choose();
  return best;
}

void EncodeHalves(std::span<const float> values, std::span<std::byte> halves) {
  METIS_CHECK(halves.size() == values.size() * kHalfBytes);
  BestHalves().encode(values.data(), halves.data(), values.size());
}

void DecodeHalves(std::span<const std::byte> halves, std::span<float> values) {
  METIS_CHECK(halves.size() == values.size() * kHalfBytes);
  BestHalves().decode(halves.data(), values.data(), values.size());
}

}  // namespace metis::wire
