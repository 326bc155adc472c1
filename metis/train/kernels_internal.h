// The kernels of each instruction set, for kernels.cc to choose from.
#pragma once

#include "metis/train/kernels.h"

namespace metis::train {

extern const TrainKernels kBaselineTrainKernels;
#if defined(__x86_64__)
extern const TrainKernels kAvx2TrainKernels;
extern const TrainKernels kAvx512TrainKernels;
#endif

}  // namespace metis::train
