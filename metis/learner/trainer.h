// Local training, as the learner session sees it: a model comes in, epochs are trained, a model
// goes out. Implemented by the built-in trainer (builtin/) and by libtorch (train/). One thread
// uses an instance at a time.
//
// Training can move: Save() in one instance and Restore() in another one for the same learner give
// the bits of a single instance that trained on.
//
//   trainer.Load(received);  trainer.Restore(state);    the cycle goes on where `state` was saved
//   trainer.Restore(state);  trainer.Load(received);    a next cycle, with what outlives the last
#pragma once

#include <cstdint>
#include <stop_token>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/learner/training_state.h"

namespace metis::learner {

// Which epoch this is in the learner's life: keys its random draws. A retrained epoch gives the
// same bits.
struct EpochKey {
  uint64_t cycle = 0;  // models received so far
  uint64_t epoch = 0;  // within the cycle, from 1
};

struct EpochReport {
  uint64_t steps = 0;  // mini-batches
  uint64_t examples = 0;
  double training_loss = 0;  // mean over the epoch's mini-batches
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Starts a cycle from the received model. Momentum restarts unless keep_momentum is set.
  virtual Result<void> Load(const ModelPtr& community) = 0;
  // One pass over the training set in the order keyed by `key`. Stops early, with an error, when
  // asked to.
  virtual Result<EpochReport> TrainEpoch(EpochKey key, std::stop_token stop) = 0;
  // The local model as it is now.
  virtual Result<ModelPtr> Snapshot() = 0;

  // Everything that the next epoch builds on, beside the received model.
  virtual Result<TrainingStatePtr> Save() = 0;
  // An error if the state is of another trainer; then Load() a model before anything else.
  virtual Result<void> Restore(const TrainingState& state) = 0;
  // Whether anything outlives a received model: momentum that is kept, statistics that stay here.
  virtual bool keeps_state() const = 0;

  virtual uint64_t training_examples() const = 0;
  virtual uint64_t steps_per_epoch() const = 0;
};

}  // namespace metis::learner
