// When a learner asks for an update (paper, section V), looked at after every local epoch. A new
// trigger is one class and one line in MakeTrigger(). Stateless; owned by one ValidationCycle,
// which keeps the books.
//
// The epochs trigger asks after uf epochs. The adaptive one asks when the local validation loss no
// longer improves enough, or when the model grows too stale:
//
//   Vpct = 100 (VLoss_i - VLoss_{i-1}) / VLoss_{i-1}, VLoss_0 being the received model's loss
//   failure: (C1) Vpct >= 0, or (C2) Vpct < 0 and |Vpct| <= VC_Loss
//   VC_Tomb failures of the whole cycle are forgiven, consecutive or not; the next one asks
//   (C3) S_k > statistic of the staleness of the learner's first `staleness_window` cycles: asks at
//   once
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "metis/federation/event.h"
#include "metis/federation/settings.h"

namespace metis::federation {

// A local epoch that has ended.
struct EndedEpoch {
  double validation_loss = 0;             // NaN without a validation set
  uint64_t staleness = 0;                 // S_k now
  std::optional<double> staleness_limit;  // what C3 compares with, once there is one
};

class Trigger {
 public:
  virtual ~Trigger() = default;

  // Does the epoch count against the tombstones? The losses of `cycle` are those before it.
  virtual std::optional<CycleReason> Failure(const CycleRecord& cycle,
                                             const EndedEpoch& epoch) const = 0;

  // `cycle` counts the epoch, and its failure if it was one.
  struct Verdict {
    bool ask = false;
    CycleReason reason = CycleReason::kEpochs;  // if it asks; else what would end the cycle at last
  };
  virtual Verdict Judge(const CycleRecord& cycle, const EndedEpoch& epoch,
                        std::optional<CycleReason> failure) const = 0;
};

std::unique_ptr<const Trigger> MakeTrigger(TriggerKind kind, const TriggerSettings& settings,
                                           CycleThresholds thresholds);

}  // namespace metis::federation
