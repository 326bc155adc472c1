#include <immintrin.h>

#include <cstring>

#include "metis/wire/half_internal.h"

namespace metis::wire {

namespace {

constexpr size_t kLanes = 8;

void Encode(const float* values, std::byte* halves, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i * kHalfBytes), packed);
  }
  for (; i < count; ++i) {
    const __m128i packed = _mm_cvtps_ph(_mm_load_ss(values + i), _MM_FROUND_TO_NEAREST_INT);
    const int half = _mm_cvtsi128_si32(packed);
    std::memcpy(halves + i * kHalfBytes, &half, kHalfBytes);
  }
}

void Decode(const std::byte* halves, float* values, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto* from = reinterpret_cast<const __m128i*>(halves + i * kHalfBytes);
    _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128(from)));
  }
  for (; i < count; ++i) {
    int half = 0;
    std::memcpy(&half, halves + i * kHalfBytes, kHalfBytes);
    _mm_store_ss(values + i, _mm_cvtph_ps(_mm_cvtsi32_si128(half)));
  }
}

}  // namespace

constinit const HalfKernels kF16cHalves = {"f16c", Encode, Decode};

}  // namespace metis::wire
