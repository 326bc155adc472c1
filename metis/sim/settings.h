// The simulated world: machines, links, and the data of the built-in task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/builtin/settings.h"
#include "metis/core/time.h"

namespace metis::sim {

// Learners with the same machine and link.
struct DeviceGroup {
  std::string name;
  uint32_t learners = 0;
  Duration batch_time = Duration::Milliseconds(100);            // training one mini-batch
  Duration evaluation_batch_time = Duration::Milliseconds(33);  // evaluating one
  Duration latency = Duration::Milliseconds(10);                // one way
  double bandwidth_mbit_s = 1000;                               // either way, > 0

  friend bool operator==(const DeviceGroup&, const DeviceGroup&) = default;
};

struct Settings {
  uint64_t seed = 1990;
  // Dealt fast, slow, fast, slow ... to learners sorted by size (not for uniform sizes).
  std::vector<DeviceGroup> groups = {
      {.name = "fast", .learners = 5},
      {.name = "slow",
       .learners = 5,
       .batch_time = Duration::Milliseconds(1000),
       .evaluation_batch_time = Duration::Milliseconds(330)},
  };
  builtin::BuiltinData builtin;

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace metis::sim
