// The loops of kernels.h, plain C++ that the compiler turns into vectors, compiled once for each
// instruction set. Included only by kernels_<instruction set>.cc; in an anonymous namespace, and
// without inline functions of the standard library, for the reason given in core/kernels_loops.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metis/train/kernels.h"

namespace metis::train {
namespace {

inline void Step(const StepSettings& settings, float* __restrict weights,
                 float* __restrict velocity, const float* __restrict gradient,
                 const float* __restrict received, size_t size) {
  const float eta = settings.learning_rate;
  const float momentum = settings.momentum;
  const float mu = settings.proximal;
  if (momentum == 0 && mu == 0) {
    for (size_t i = 0; i < size; ++i) weights[i] -= eta * gradient[i];
  } else if (momentum == 0) {
    for (size_t i = 0; i < size; ++i) {
      weights[i] -= eta * (gradient[i] + mu * (weights[i] - received[i]));
    }
  } else if (mu == 0) {
    for (size_t i = 0; i < size; ++i) {
      velocity[i] = momentum * velocity[i] - eta * gradient[i];
      weights[i] += velocity[i];
    }
  } else {
    for (size_t i = 0; i < size; ++i) {
      const float slope = gradient[i] + mu * (weights[i] - received[i]);
      velocity[i] = momentum * velocity[i] - eta * slope;
      weights[i] += velocity[i];
    }
  }
}

struct Floats {
  using Value = float;
  static float Load(float value) { return value; }
  static float Store(float value) { return value; }
};

// The upper half of a float, rounded to nearest even; a NaN stays one.
struct Bfloats {
  using Value = uint16_t;
  static float Load(uint16_t value) {
    const uint32_t bits = static_cast<uint32_t>(value) << 16;
    return __builtin_bit_cast(float, bits);
  }
  static uint16_t Store(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    return static_cast<uint16_t>(value != value ? 0x7FC0 : rounded);
  }
};

// Rows of one position with `radius` zeros at either side, so that windows need no ends.
struct Scratch {
  Scratch(const NormalisationSettings& settings, float* memory)
      : radius(settings.radius),
        row(settings.channels + 2 * settings.radius),
        window_row(memory),
        x(memory + row),
        dy(x + settings.channels),
        sums(dy + settings.channels),
        scale(sums + settings.channels) {
    for (size_t c = 0; c < row; ++c) window_row[c] = 0;
  }

  float* centre() { return window_row + radius; }
  // sums[c] = sum of window_row over the window around c, in ascending order of channels.
  void SumWindows(size_t channels) {
    for (size_t c = 0; c < channels; ++c) sums[c] = window_row[c];
    for (size_t j = 1; j <= 2 * radius; ++j) {
      const float* from = window_row + j;
      for (size_t c = 0; c < channels; ++c) sums[c] += from[c];
    }
  }

  const size_t radius;
  const size_t row;
  float* __restrict window_row;
  float* __restrict x;
  float* __restrict dy;
  float* __restrict sums;
  float* __restrict scale;
};

// From x: sums becomes d, scale becomes d^-0.75.
inline void Scale(const NormalisationSettings& settings, Scratch& scratch) {
  const size_t channels = settings.channels;
  float* __restrict centre = scratch.centre();
  for (size_t c = 0; c < channels; ++c) centre[c] = scratch.x[c] * scratch.x[c];
  scratch.SumWindows(channels);
  for (size_t c = 0; c < channels; ++c) {
    const float d = settings.k + settings.alpha * scratch.sums[c];
    const float root = __builtin_sqrtf(d);
    scratch.sums[c] = d;
    scratch.scale[c] = 1 / (root * __builtin_sqrtf(root));
  }
}

template <typename Format>
void Normalise(const NormalisationSettings& settings, const typename Format::Value* __restrict x,
               typename Format::Value* __restrict y, float* memory, size_t positions) {
  const size_t channels = settings.channels;
  Scratch scratch(settings, memory);
  for (size_t p = 0; p < positions; ++p, x += channels, y += channels) {
    for (size_t c = 0; c < channels; ++c) scratch.x[c] = Format::Load(x[c]);
    Scale(settings, scratch);
    for (size_t c = 0; c < channels; ++c) y[c] = Format::Store(scratch.x[c] * scratch.scale[c]);
  }
}

template <typename Format>
void NormaliseBack(const NormalisationSettings& settings,
                   const typename Format::Value* __restrict x,
                   const typename Format::Value* __restrict dy,
                   typename Format::Value* __restrict dx, float* memory, size_t positions) {
  const size_t channels = settings.channels;
  const float factor = 1.5F * settings.alpha;
  Scratch scratch(settings, memory);
  for (size_t p = 0; p < positions; ++p, x += channels, dy += channels, dx += channels) {
    for (size_t c = 0; c < channels; ++c) scratch.x[c] = Format::Load(x[c]);
    for (size_t c = 0; c < channels; ++c) scratch.dy[c] = Format::Load(dy[c]);
    Scale(settings, scratch);
    float* __restrict centre = scratch.centre();
    for (size_t c = 0; c < channels; ++c) {
      centre[c] = scratch.dy[c] * scratch.x[c] * scratch.scale[c] / scratch.sums[c];
    }
    scratch.SumWindows(channels);
    for (size_t c = 0; c < channels; ++c) {
      dx[c] =
          Format::Store(scratch.dy[c] * scratch.scale[c] - factor * scratch.x[c] * scratch.sums[c]);
    }
  }
}

inline constexpr TrainKernels kLoops = {Step, Normalise<Floats>, Normalise<Bfloats>,
                                        NormaliseBack<Floats>, NormaliseBack<Bfloats>};

}  // namespace
}  // namespace metis::train
