#include "metis/federation/weighting.h"

namespace metis::federation {

std::vector<Peers::Peer> Peers::all() const {
  std::vector<Peer> peers;
  for (const auto& [learner, member] : membership_.all()) {
    if (learner == self_ || !member.trains()) continue;
    peers.push_back({.learner = learner,
                     .live = member.live(),
                     .training_examples = member.declared.training_examples,
                     .validation_examples = member.validation_examples(),
                     .contribution = aggregator_.contribution(learner)});
  }
  return peers;
}

}  // namespace metis::federation
