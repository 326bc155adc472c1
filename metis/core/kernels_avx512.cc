// GCC 12's own AVX-512 intrinsics start from a deliberately undefined register and then warn about
// it.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include "metis/core/kernels_internal.h"
#include "metis/core/kernels_loops.h"

namespace metis {
namespace {

struct Avx512Lanes {
  static constexpr size_t kLanes = 8;
  static constexpr size_t kGroup = 10;
  using Doubles = __m512d;
  using Integers = __m512i;

  static Doubles Broadcast(double value) { return _mm512_set1_pd(value); }
  static Doubles LoadFloats(const float* from) { return _mm512_cvtps_pd(_mm256_loadu_ps(from)); }
  static void StoreFloats(float* to, Doubles values) {
    _mm256_storeu_ps(to, _mm512_cvtpd_ps(values));
  }
  static Integers LoadIntegers(const int64_t* from) { return _mm512_loadu_si512(from); }
  static void StoreIntegers(int64_t* to, Integers values) { _mm512_storeu_si512(to, values); }
  static Doubles ToDoubles(Integers values) { return _mm512_cvtepi64_pd(values); }

  class Terms {
   public:
    explicit Terms(Integers start) : sum_(start) {}
    void Add(Doubles x) { sum_ = _mm512_add_epi64(sum_, _mm512_cvtpd_epi64(x)); }
    void Subtract(Doubles x) { sum_ = _mm512_sub_epi64(sum_, _mm512_cvtpd_epi64(x)); }
    Integers Total(int64_t /*net*/) const { return sum_; }

   private:
    Integers sum_;
  };

  static uint32_t LargestBits(const float* from, size_t size, size_t& i) {
    const __m512i no_sign = _mm512_set1_epi32(0x7fffffff);
    __m512i even = _mm512_setzero_si512();
    __m512i odd = even;
    for (; i + 32 <= size; i += 32) {
      __builtin_prefetch(from + i + kFloatsAhead);
      __builtin_prefetch(from + i + 16 + kFloatsAhead);
      even = _mm512_max_epi32(even, _mm512_and_si512(_mm512_loadu_si512(from + i), no_sign));
      odd = _mm512_max_epi32(odd, _mm512_and_si512(_mm512_loadu_si512(from + i + 16), no_sign));
    }
    alignas(64) uint32_t lanes[16];
    _mm512_store_si512(lanes, _mm512_max_epi32(even, odd));
    return LargestOf(lanes);
  }
};

}  // namespace

constinit const Kernels kAvx512Kernels =
    Loops<Avx512Lanes>::Table(InstructionSet::kAvx512, "avx512");

}  // namespace metis
