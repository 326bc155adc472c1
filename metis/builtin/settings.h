// The size and difficulty of the built-in task.
#pragma once

#include <cstdint>

namespace metis::builtin {

// Gaussian classes for softmax regression: what the built-in trainer learns.
struct BuiltinData {
  uint32_t classes = 10;
  uint32_t features = 20;
  uint32_t training_examples = 6000;
  uint32_t test_examples = 1000;
  double separation = 3.0;  // distance of class means from the origin, in deviations of an example

  friend bool operator==(const BuiltinData&, const BuiltinData&) = default;
};

}  // namespace metis::builtin
