#include "bench/limits.h"

#include <cstring>

// Most are plain loops, vectorised by the compiler at -O3 (bench/CMakeLists.txt).
#if defined(__x86_64__)
#define METIS_EVERY_INSTRUCTION_SET __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define METIS_EVERY_INSTRUCTION_SET
#endif

namespace metis::bench {

// Whole lines in four chains and with prefetching, as the kernels read: a slower limit would
// flatter them.
METIS_EVERY_INSTRUCTION_SET
uint32_t ReadPass(const float* values, size_t size) {
  using Line = uint32_t __attribute__((vector_size(64)));
  constexpr size_t kFloats = sizeof(Line) / sizeof(float);
  constexpr size_t kAhead = 512;
  Line sums[4] = {};
  size_t i = 0;
  for (; i + 4 * kFloats <= size; i += 4 * kFloats) {
    for (size_t k = 0; k < 4; ++k) {
      const float* const at = values + i + k * kFloats;
      __builtin_prefetch(at + kAhead);
      Line line;
      std::memcpy(&line, at, sizeof(line));
      sums[k] += line;
    }
  }
  const Line sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  uint32_t total = 0;
  for (size_t k = 0; k < kFloats; ++k) total += sum[k];
  for (; i < size; ++i) total += __builtin_bit_cast(uint32_t, values[i]);
  return total;
}

METIS_EVERY_INSTRUCTION_SET
void WritePass(float* values, float value, size_t size) {
  for (size_t i = 0; i < size; ++i) values[i] = value;
}

METIS_EVERY_INSTRUCTION_SET
void PlainReplacePass(double* __restrict sums, WeightedModel incoming, WeightedModel outgoing,
                      double inverse, float* __restrict community, size_t size) {
  const float* __restrict in = incoming.parameters;
  const float* __restrict out = outgoing.parameters;
  const double in_scale = incoming.scaled_contribution;
  const double out_scale = outgoing.scaled_contribution;
  for (size_t i = 0; i < size; ++i) {
    sums[i] += in_scale * static_cast<double>(in[i]) - out_scale * static_cast<double>(out[i]);
    community[i] = static_cast<float>(sums[i] * inverse);
  }
}

}  // namespace metis::bench
