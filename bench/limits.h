// What a kernel is measured against: passes over the same bytes that no exact arithmetic can beat
// by much. Compiled for every instruction set and chosen at run time, so that the limit is as fast
// as the machine.
// A kernel reads several models and writes at once, these passes one after the other: where one
// stream does not fill the memory bus, ratios fall below 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metis/core/kernels.h"

namespace metis::bench {

// Reads every byte of `values`; the result depends on all of them.
uint32_t ReadPass(const float* values, size_t size);

// Writes every byte of `values`.
void WritePass(float* values, float value, size_t size);

// The cached update in plain float64: W += p w - p' w', w_c = W * inverse, one pass.
void PlainReplacePass(double* sums, WeightedModel incoming, WeightedModel outgoing, double inverse,
                      float* community, size_t size);

}  // namespace metis::bench
