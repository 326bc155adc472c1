#include "metis/sim/network.h"

#include <algorithm>

namespace metis::sim {

void Network::Send(uint32_t participant, uint64_t bytes, Owner owner, EventQueue::Task deliver) {
  bytes_sent_ += bytes;
  const Link& link = links_[participant];
  Duration transfer = link.latency;
  if (link.bandwidth_mbit_s > 0) {
    transfer =
        transfer + Duration::FromSeconds(static_cast<double>(bytes) * 8e-6 / link.bandwidth_mbit_s);
  }
  queue_.After(transfer, owner, std::move(deliver));
}

void Network::Cut(uint32_t participant, Instant until) {
  cut_until_[participant] = std::max(cut_until_[participant], until);
}

bool Network::IsCut(uint32_t participant) const {
  auto cut = cut_until_.find(participant);
  return cut != cut_until_.end() && queue_.now() < cut->second;
}

}  // namespace metis::sim
