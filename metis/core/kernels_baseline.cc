#include "metis/core/kernels_internal.h"
#include "metis/core/kernels_loops.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace metis {
namespace {

#if defined(__SSE2__)

struct BaselineLanes {
  static constexpr size_t kLanes = 2;
  static constexpr size_t kGroup = 5;
  using Doubles = __m128d;
  using Integers = __m128i;
  using Terms = HalvedTerms<BaselineLanes>;

  static Doubles Broadcast(double value) { return _mm_set1_pd(value); }
  static Doubles LoadFloats(const float* from) {
    return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }
  static void StoreFloats(float* to, Doubles values) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_castps_si128(_mm_cvtpd_ps(values)));
  }
  static Integers LoadIntegers(const int64_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static void StoreIntegers(int64_t* to, Integers values) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), values);
  }

  static Integers Bits(Doubles values) { return _mm_castpd_si128(values); }
  static Integers BroadcastBits(uint64_t bits) {
    return _mm_set1_epi64x(static_cast<int64_t>(bits));
  }
  static Integers Plus(Integers a, Integers b) { return _mm_add_epi64(a, b); }
  static Integers Minus(Integers a, Integers b) { return _mm_sub_epi64(a, b); }
  static Integers ShiftLeft32(Integers values) { return _mm_slli_epi64(values, 32); }

  // As in kernels_avx2.cc; SSE2 has no blend.
  static Doubles ToDoubles(Integers values) {
    const Integers low = _mm_or_si128(_mm_and_si128(values, BroadcastBits(0x00000000ffffffffu)),
                                      BroadcastBits(0x4330000000000000u));
    const Integers high =
        _mm_xor_si128(_mm_srli_epi64(values, 32), BroadcastBits(0x4530000080000000u));
    return (_mm_castsi128_pd(high) - Broadcast(0x1p84 + 0x1p63 + 0x1p52)) + _mm_castsi128_pd(low);
  }

  static __m128i Larger(__m128i a, __m128i b) {
    const __m128i greater = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(greater, a), _mm_andnot_si128(greater, b));
  }

  static uint32_t LargestBits(const float* from, size_t size, size_t& i) {
    const __m128i no_sign = _mm_set1_epi32(0x7fffffff);
    __m128i even = _mm_setzero_si128();
    __m128i odd = even;
    for (; i + 8 <= size; i += 8) {
      __builtin_prefetch(from + i + kFloatsAhead);
      const __m128i* const at = reinterpret_cast<const __m128i*>(from + i);
      even = Larger(even, _mm_and_si128(_mm_loadu_si128(at), no_sign));
      odd = Larger(odd, _mm_and_si128(_mm_loadu_si128(at + 1), no_sign));
    }
    alignas(16) uint32_t lanes[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(lanes), Larger(even, odd));
    return LargestOf(lanes);
  }
};

#else

using BaselineLanes = ScalarLane;

#endif

}  // namespace

constinit const Kernels kBaselineKernels =
    Loops<BaselineLanes>::Table(InstructionSet::kBaseline, "baseline");

}  // namespace metis
