// The kernels of half_f16c.cc, which only half.cc may choose: calling them on a CPU without F16C is
// an illegal instruction.
#pragma once

#include "metis/wire/half.h"

namespace metis::wire {

#if defined(__x86_64__)
extern const HalfKernels kF16cHalves;
#endif

}  // namespace metis::wire
