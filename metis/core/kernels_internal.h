// The kernel tables of kernels.h, one from each kernels_<instruction set>.cc. Only kernels.cc picks
// among them: calling a table's functions on a CPU without its instruction set is an illegal
// instruction.
#pragma once

#include "metis/core/kernels.h"

namespace metis {

extern const Kernels kBaselineKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace metis
