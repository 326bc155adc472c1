// What libtorch needs from the process and from each thread that computes with it.
//
// One thread a learner is the rule: two learners on two threads are faster than one learner on two,
// and results then do not depend on the number of threads.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "metis/core/result.h"
#include "metis/learner/settings.h"

namespace metis::train {

// For main(): keeps freed memory in the process, because a training step frees and takes the same
// large blocks again, and fresh pages cost more than the arithmetic on them. Costs: memory is given
// back to the system only at the end.
void KeepFreedMemory();

// Runs `work` on this thread with libtorch confined to it. What libtorch throws comes back as an
// error "doing: ...".
Result<void> Compute(std::string_view doing, const std::function<void()>& work);

// Of the libtorch that this was built with: a part of what results depend on. "1.13.0"
std::string TorchVersion();

// bf16 where this CPU has AMX and shows its tiles, else fp32.
learner::Precision FastestPrecision();

// What to tell the user about this precision on this CPU; empty if there is nothing to say.
std::string PrecisionWarning(learner::Precision precision);

}  // namespace metis::train
