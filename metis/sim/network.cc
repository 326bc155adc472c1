#include "metis/sim/network.h"

#include <algorithm>

namespace metis::sim {

void Network::Send(LearnerId learner, uint64_t bytes, Owner owner, EventQueue::Task deliver) {
  bytes_sent_ += bytes;
  const Instant now = queue_.now();
  const Link& link = links_[learner];
  Duration transfer = link.latency;
  if (link.bandwidth_mbit_s > 0) {
    transfer =
        transfer + Duration::FromSeconds(static_cast<double>(bytes) * 8e-6 / link.bandwidth_mbit_s);
  }
  if (spared_.contains(learner)) return queue_.After(transfer, owner, std::move(deliver));

  if (auto cut = cut_until_.find(learner); cut != cut_until_.end() && now < cut->second) {
    faults_.Count(Fault::kPartition);
    return;
  }
  const FaultRates& rates = faults_.rates();
  if (faults_.Strikes(Fault::kLoss, rates.loss, learner.value(), now)) return;
  int copies =
      faults_.Strikes(Fault::kDuplication, rates.duplication, learner.value(), now) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    Duration held;
    if (faults_.Strikes(Fault::kDelay, rates.delay, learner.value(), now)) {
      held = Duration::FromSeconds(
          faults_.Next(learner.value()).Uniform(0, rates.max_delay.seconds()));
    }
    queue_.After(transfer + held, owner, deliver);
  }
}

void Network::Partition(LearnerId learner, Instant until) {
  cut_until_[learner] = std::max(cut_until_[learner], until);
}

}  // namespace metis::sim
