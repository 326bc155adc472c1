// How far a federation is.
#pragma once

#include "metis/core/time.h"
#include "metis/federation/controller.h"

namespace metis::report {

// By whichever stop criterion is nearest to its end; may exceed 1. Of accuracy and patience nothing
// can be told.
double PartDone(const federation::Controller& controller, Instant now);

}  // namespace metis::report
