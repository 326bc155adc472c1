#include "metis/train/kernels_internal.h"
#include "metis/train/kernels_loops.h"

namespace metis::train {

const TrainKernels kAvx512TrainKernels = kLoops;

}  // namespace metis::train
