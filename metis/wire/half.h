// Values as IEEE binary16, little-endian: what kHalf sends. Rounds to nearest, ties to even; what
// is too large becomes infinite, a NaN stays one and becomes quiet. Every implementation gives the
// same bits, those of the F16C instructions. Spans need not be aligned on the side of the halves.
#pragma once

#include <cstddef>
#include <span>

namespace metis::wire {

inline constexpr size_t kHalfBytes = 2;

// The fastest that this CPU has. `halves` has kHalfBytes a value, checked.
void EncodeHalves(std::span<const float> values, std::span<std::byte> halves);
void DecodeHalves(std::span<const std::byte> halves, std::span<float> values);

// Those that EncodeHalves and DecodeHalves choose among.
struct HalfKernels {
  const char* name;
  void (*encode)(const float* values, std::byte* halves, size_t count);
  void (*decode)(const std::byte* halves, float* values, size_t count);
};
const HalfKernels& PortableHalves();
// Those of F16C; the portable ones on a CPU without it.
const HalfKernels& BestHalves();

}  // namespace metis::wire
