// Where a simulation may write: never over what `metis controller` keeps of a federation.
#pragma once

#include <string>

#include "metis/core/result.h"

namespace metis::apps {

// Refuses a directory that holds a federation over the network (docs/run-directory.md): its record
// looks like that of a simulation, but what it recorded cannot be made again.
Result<void> RefuseFederation(const std::string& directory);

}  // namespace metis::apps
