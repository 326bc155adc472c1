#include "metis/core/kernels.h"

#include <algorithm>

#include "metis/core/check.h"
#include "metis/core/kernels_internal.h"

namespace metis {

std::vector<InstructionSet> SupportedInstructionSets() {
  std::vector<InstructionSet> supported = {InstructionSet::kBaseline};
#if defined(__x86_64__)
  // These ask the CPU and the operating system: a kernel that does not save the registers says no.
  if (__builtin_cpu_supports("avx2")) supported.push_back(InstructionSet::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    supported.push_back(InstructionSet::kAvx512);
  }
#endif
  return supported;
}

const Kernels& KernelsFor(InstructionSet set) {
  static const std::vector<InstructionSet> supported = SupportedInstructionSets();
  METIS_CHECK_MSG(std::find(supported.begin(), supported.end(), set) != supported.end(),
                  "this CPU lacks the instruction set asked for: ask SupportedInstructionSets()");
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx2) return kAvx2Kernels;
  if (set == InstructionSet::kAvx512) return kAvx512Kernels;
#endif
  return kBaselineKernels;
}

const Kernels& BestKernels() {
  static const Kernels& best = KernelsFor(SupportedInstructionSets().back());
  return best;
}

}  // namespace metis
