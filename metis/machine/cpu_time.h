// The CPU time that this thread has used: what else the machine does counts less than on the wall's
// clock. For measurements; any thread may ask for its own.
#pragma once

namespace metis::machine {

double ThreadCpuSeconds();

}  // namespace metis::machine
