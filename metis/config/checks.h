// Rules that tie keys together. Ranges of single keys are in the table (keys.cc).
#pragma once

#include <string>
#include <vector>

#include "metis/config/config.h"

namespace metis::config {

struct Conflict {
  std::vector<std::string>
      keys;  // "federation.quorum", ...: the first that was set takes the blame
  std::string message;
};

// Every rule that the settings break; empty: they fit together.
std::vector<Conflict> FindConflicts(const Config& config);

}  // namespace metis::config
