#include <immintrin.h>

#include "metis/core/kernels_internal.h"
#include "metis/core/kernels_loops.h"

namespace metis {
namespace {

struct Avx2Lanes {
  static constexpr size_t kLanes = 4;
  static constexpr size_t kGroup = 5;
  using Doubles = __m256d;
  using Integers = __m256i;
  using Terms = HalvedTerms<Avx2Lanes>;

  static Doubles Broadcast(double value) { return _mm256_set1_pd(value); }
  static Doubles LoadFloats(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
  static void StoreFloats(float* to, Doubles values) { _mm_storeu_ps(to, _mm256_cvtpd_ps(values)); }
  static Integers LoadIntegers(const int64_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static void StoreIntegers(int64_t* to, Integers values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values);
  }

  static Integers Bits(Doubles values) { return _mm256_castpd_si256(values); }
  static Integers BroadcastBits(uint64_t bits) {
    return _mm256_set1_epi64x(static_cast<int64_t>(bits));
  }
  static Integers Plus(Integers a, Integers b) { return _mm256_add_epi64(a, b); }
  static Integers Minus(Integers a, Integers b) { return _mm256_sub_epi64(a, b); }
  static Integers ShiftLeft32(Integers values) { return _mm256_slli_epi64(values, 32); }

  // The low 32 bits become 2^52 + low, the high ones 2^84 + 2^63 + high * 2^32 (the flipped sign
  // bit makes them unsigned). The constants cancel exactly and only the last addition rounds.
  static Doubles ToDoubles(Integers values) {
    const Integers low = _mm256_blend_epi32(BroadcastBits(0x4330000000000000u), values, 0x55);
    const Integers high =
        _mm256_xor_si256(_mm256_srli_epi64(values, 32), BroadcastBits(0x4530000080000000u));
    return (_mm256_castsi256_pd(high) - Broadcast(0x1p84 + 0x1p63 + 0x1p52)) +
           _mm256_castsi256_pd(low);
  }

  static uint32_t LargestBits(const float* from, size_t size, size_t& i) {
    const __m256i no_sign = _mm256_set1_epi32(0x7fffffff);
    __m256i even = _mm256_setzero_si256();
    __m256i odd = even;
    for (; i + 16 <= size; i += 16) {
      __builtin_prefetch(from + i + kFloatsAhead);
      const __m256i* const at = reinterpret_cast<const __m256i*>(from + i);
      even = _mm256_max_epi32(even, _mm256_and_si256(_mm256_loadu_si256(at), no_sign));
      odd = _mm256_max_epi32(odd, _mm256_and_si256(_mm256_loadu_si256(at + 1), no_sign));
    }
    alignas(32) uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_max_epi32(even, odd));
    return LargestOf(lanes);
  }
};

}  // namespace

constinit const Kernels kAvx2Kernels = Loops<Avx2Lanes>::Table(InstructionSet::kAvx2, "avx2");

}  // namespace metis
