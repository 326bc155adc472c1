#include "metis/train/kernels_internal.h"
#include "metis/train/kernels_loops.h"

namespace metis::train {

const TrainKernels kBaselineTrainKernels = kLoops;

}  // namespace metis::train
