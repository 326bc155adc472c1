// The simulated world: machines, links, and the data of the built-in trainer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// Gaussian classes for softmax regression: what the built-in trainer learns.
struct BuiltinData {
  uint32_t classes = 10;
  uint32_t features = 20;
  uint32_t training_examples = 6000;
  uint32_t test_examples = 1000;
  double separation = 3.0;  // distance of class means from the origin, in deviations of an example

  friend bool operator==(const BuiltinData&, const BuiltinData&) = default;
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
  BuiltinData builtin;

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace metis::sim
