// The controller's own step from one community model to the next: the aggregate says where to, the
// optimizer how far. A part of the policy: one file in metis/policy. Owned by one Controller.
#pragma once

#include "metis/core/archive.h"
#include "metis/core/model.h"
#include "metis/core/result.h"

namespace metis::federation {

class ServerOptimizer {
 public:
  virtual ~ServerOptimizer() = default;

  // The next community model. Called once for every version.
  virtual ModelPtr Step(const ModelPtr& community, const ModelPtr& aggregate) = 0;

  // All of its state, moments and counters.
  virtual void Save(BinaryWriter& archive) const = 0;
  virtual Result<void> Restore(BinaryReader& archive) = 0;
};

}  // namespace metis::federation
