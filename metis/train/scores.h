// A forward pass in the precision asked for. Includes libtorch.
#pragma once

#include <cstdint>

#include "metis/learner/settings.h"
#include "metis/train/network.h"

namespace metis::train {

// In fp32, whatever the precision of the pass. For bf16 libtorch casts where that is safe
// (autocast); its casts of the weights live as long as this pass, because the next step changes the
// weights.
at::Tensor Scores(Instance& instance, const at::Tensor& input, Mode mode,
                  learner::Precision precision, uint64_t draw);

}  // namespace metis::train
