#include "metis/sim/faulty_ports.h"

#include <algorithm>
#include <limits>

namespace metis::sim {

void FaultyLine::Carry(const std::function<void()>& send) {
  if (spared_) return send();
  if (world_.network.IsCut(participant_)) return world_.faults.Count(Fault::kPartition);
  const Instant now = world_.queue.now();
  const FaultRates& rates = world_.faults.rates();
  if (world_.faults.Strikes(Fault::kLoss, rates.loss, participant_, now)) return;
  const bool twice =
      world_.faults.Strikes(Fault::kDuplication, rates.duplication, participant_, now);
  for (int copy = 0; copy < (twice ? 2 : 1); ++copy) {
    if (world_.faults.Strikes(Fault::kDelay, rates.delay, participant_, now)) {
      const double held = world_.faults.Next(participant_).Uniform(0, rates.max_delay.seconds());
      world_.queue.After(Duration::FromSeconds(held), participant_, send);
    } else {
      send();
    }
  }
}

Result<void> RefusingLog::Append(Instant time, const federation::Event& event) {
  const double rate = world_.faults.rates().log_refusal;
  if (world_.faults.Strikes(Fault::kLogRefusal, rate, kControllerOwner, world_.queue.now())) {
    return Unavailable("the disk is full");
  }
  return next_.Append(time, event);
}

work::Worker::JobId FaultyWorker::Start(work::Work work, Done done) {
  const work::Kind kind = work.kind;
  return next_.Start(std::move(work),
                     [this, kind, done = std::move(done)](Result<work::WorkResult> result) {
                       if (result) Spoil(kind, *result);
                       done(std::move(result));
                     });
}

bool FaultyWorker::Strikes(Fault fault, double rate) {
  return world_.faults.Strikes(fault, rate, participant_, world_.queue.now());
}

void FaultyWorker::Spoil(work::Kind kind, work::WorkResult& result) {
  const FaultRates& rates = world_.faults.rates();
  if (result.model) {
    if (Strikes(Fault::kNanUpdate, rates.nan_update)) {
      Spoil(result.model, std::numeric_limits<float>::quiet_NaN());
    }
    if (Strikes(Fault::kHugeUpdate, rates.huge_update)) Spoil(result.model, 1e12f);
  }
  const bool told = kind == work::Kind::kModel || kind == work::Kind::kEvaluation;
  if (told && result.evaluation && Strikes(Fault::kForgedCounts, rates.forged_counts)) {
    ConfusionCounts forged = result.evaluation->counts.AsConfusion();
    if (forged.classes() > 0) forged.Count(forged.classes() - 1, forged.classes() - 1, 500);
    result.evaluation->counts = std::move(forged);
  }
}

void FaultyWorker::Spoil(ModelPtr& model, float value) {
  ModelDraft draft = pool_.Draft();
  std::ranges::copy(model->parameters(), draft.parameters().begin());
  const size_t at = world_.faults.Next(participant_).Below(draft.parameters().size());
  draft.parameters()[at] = value;
  model = std::move(draft).Seal();
}

}  // namespace metis::sim
