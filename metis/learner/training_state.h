// What training leaves behind beside the model that it sends: momentum, statistics that stay with
// the learner, weights in the trainer's own precision. Bytes that only a trainer of the same kind
// reads, so that they can go to another thread, process or machine. Immutable; shared freely.
#pragma once

#include <memory>
#include <string>

namespace metis::learner {

struct TrainingState {
  std::string bytes;
};

using TrainingStatePtr = std::shared_ptr<const TrainingState>;

}  // namespace metis::learner
