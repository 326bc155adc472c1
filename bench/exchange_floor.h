// What no exchange of models can beat: the same bytes over raw TCP on loopback, one read of all
// models in memory, and writing and syncing the same bytes. Seconds a round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace metis::bench {

struct Floor {
  double tcp = 0;    // every learner sends a model and receives one
  double read = 0;   // one pass over all models
  double write = 0;  // all models into files, each synced
};

Floor MeasureFloor(uint32_t learners, size_t model_bytes, const std::string& directory);

}  // namespace metis::bench
