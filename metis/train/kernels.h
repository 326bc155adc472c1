// The inner loops of training that libtorch has no fast form of, once for each instruction set: the
// optimizer's step in one pass over memory, and local response normalisation over interleaved
// channels. Every instruction set gives the same bits. Pure functions: any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metis/core/kernels.h"

namespace metis::train {

// u = momentum * u - eta * (grad + mu * (w - received));  w = w + u (paper, section II).
struct StepSettings {
  float learning_rate = 0;  // eta
  float momentum = 0;       // 0: plain SGD, `velocity` is neither read nor written
  float proximal = 0;       // mu; 0: `received` is not read
};

// Across channels, radius r: d_c = k + alpha * sum over |j - c| <= r of x_j^2;  y_c = x_c *
// d_c^-0.75.
struct NormalisationSettings {
  size_t channels = 0;
  size_t radius = 4;
  float k = 1;
  float alpha = 0.001F / 9;  // of each term of the sum, not of its mean
};

struct TrainKernels {
  void (*step)(const StepSettings& settings, float* weights, float* velocity, const float* gradient,
               const float* received, size_t size);

  // `x` and `y` are positions * channels values, channels innermost; bf16 as raw 16 bits. `scratch`
  // has NormalisationScratch() floats, contents unspecified.
  void (*normalise)(const NormalisationSettings& settings, const float* x, float* y, float* scratch,
                    size_t positions);
  void (*normalise_bf16)(const NormalisationSettings& settings, const uint16_t* x, uint16_t* y,
                         float* scratch, size_t positions);
  // The gradient dx of x, given x and the gradient dy of y:
  //   dx_c = dy_c d_c^-0.75 - 1.5 alpha x_c * sum over |j - c| <= r of dy_j x_j d_j^-1.75
  void (*normalise_back)(const NormalisationSettings& settings, const float* x, const float* dy,
                         float* dx, float* scratch, size_t positions);
  void (*normalise_back_bf16)(const NormalisationSettings& settings, const uint16_t* x,
                              const uint16_t* dy, uint16_t* dx, float* scratch, size_t positions);
};

size_t NormalisationScratch(const NormalisationSettings& settings);

// Checked: `set` must be supported by this CPU.
const TrainKernels& TrainKernelsFor(InstructionSet set);
// The fastest that this CPU supports.
const TrainKernels& BestTrainKernels();

}  // namespace metis::train
