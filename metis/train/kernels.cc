#include "metis/train/kernels.h"

#include "metis/train/kernels_internal.h"

namespace metis::train {

size_t NormalisationScratch(const NormalisationSettings& settings) {
  return (settings.channels + 2 * settings.radius) + 4 * settings.channels;
}

const TrainKernels& TrainKernelsFor(InstructionSet set) {
  KernelsFor(set);  // checks that this CPU has it
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx2) return kAvx2TrainKernels;
  if (set == InstructionSet::kAvx512) return kAvx512TrainKernels;
#endif
  return kBaselineTrainKernels;
}

const TrainKernels& BestTrainKernels() {
  static const TrainKernels& best = TrainKernelsFor(SupportedInstructionSets().back());
  return best;
}

}  // namespace metis::train
