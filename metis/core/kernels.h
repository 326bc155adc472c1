// The arithmetic of the community model over flat memory, once for each instruction set.
//
// Sums are exact: a learner's term is the integer round(p * 2^40 * w), ties to even, and integers
// neither drift nor depend on order. Every instruction set gives the same bits: AVX-512 has the
// conversions between double and int64, AVX2 and the baseline (SSE2) make them from two halves, and
// tails and other architectures use portable C++. Callers keep |p * 2^40 * w| and every sum below
// 2^63 (federation::Gate); sums wrap otherwise. Rounding mode: to nearest, the default.
// Buffers are 64-byte aligned (model.h) for speed; sizes are any. All functions are pure: any
// thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace metis {

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

// Grid on which p * w is summed: 2^-40. Finer would overflow 2^63 for a gate of 2^13 times 1000
// learners.
inline constexpr int kSumFractionBits = 40;

// A model and its contribution on the grid: scaled_contribution = p * 2^kSumFractionBits.
struct WeightedModel {
  const float* parameters = nullptr;
  double scaled_contribution = 0;
};

struct Kernels {
  InstructionSet instruction_set;
  const char* name;  // "baseline", "avx2", "avx512"

  // One pass, O(M): W += incoming - outgoing, w_c = W * inverse.
  //   sums[i] += round(incoming.scaled * incoming[i]) - round(outgoing.scaled * outgoing[i])
  //   community[i] = float(double(sums[i]) * inverse)
  // A null `incoming.parameters` (withdrawal) or `outgoing.parameters` (first commit) stands for no
  // term; a null `community` leaves w_c uncomputed.
  void (*replace)(int64_t* sums, WeightedModel incoming, WeightedModel outgoing, double inverse,
                  float* community, size_t size);

  // One pass over all models, O(M N), in tiles that stay in cache:
  //   W[i] = sum over models of round(scaled * model[i]);  community[i] = float(double(W[i]) *
  //   inverse)
  // Writes W to `sums` unless it is null, and w_c to `community` unless it is null.
  void (*average)(std::span<const WeightedModel> models, double inverse, int64_t* sums,
                  float* community, size_t size);

  // out[i] = float((1 - alpha) * double(community[i]) + alpha * double(update[i])). `out` may be
  // `community`.
  void (*mix)(const float* community, const float* update, double alpha, float* out, size_t size);

  // The largest |x|; +infinity if any value is NaN or infinite; 0 if size is 0.
  float (*magnitude)(const float* parameters, size_t size);
};

// What this CPU can run, slowest first; always begins with kBaseline.
std::vector<InstructionSet> SupportedInstructionSets();

// Checked: `set` must be supported by this CPU.
const Kernels& KernelsFor(InstructionSet set);

// The fastest of SupportedInstructionSets().
const Kernels& BestKernels();

}  // namespace metis
