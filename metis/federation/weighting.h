// Where a learner's contribution p_k comes from. A weighting is a part of the policy: one file in
// metis/policy. Stateless; owned by one Controller.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metis/federation/aggregator.h"
#include "metis/federation/evaluation.h"
#include "metis/federation/event.h"
#include "metis/federation/membership.h"
#include "metis/federation/settings.h"

namespace metis::federation {

// What is known of the other learners of the federation, read where it is asked for: O(N) a call.
class Peers {
 public:
  struct Peer {
    LearnerId learner;
    bool live = false;
    uint64_t training_examples = 0;
    uint64_t validation_examples = 0;
    std::optional<double> contribution;  // its latest p; empty: it has no model in the community
  };

  // Borrows both for as long as it lives.
  Peers(const Membership& membership, const Aggregator& aggregator, LearnerId self)
      : membership_(membership), aggregator_(aggregator), self_(self) {}

  // In id order, without the candidate's own learner and without observers.
  std::vector<Peer> all() const;

 private:
  const Membership& membership_;
  const Aggregator& aggregator_;
  LearnerId self_;
};

// A model that is to be weighed, with all that its weight may depend on.
struct Candidate {
  LearnerId learner;
  uint64_t training_examples = 0;  // behind this model: a later life may have others
  uint64_t steps = 0;
  uint64_t staleness = 0;          // S_k as of now, its own steps among them
  uint64_t version_staleness = 0;  // versions that were made since it was sent its base
  const CycleRecord& cycle;        // the losses on its learner's own validation set
  const Evaluation& evaluation;    // empty, with coverage 1, where nobody was asked
  std::optional<double> previous;  // p of its learner's model that is in the community now
  const Peers& peers;
};

class Weighting {
 public:
  virtual ~Weighting() = default;

  // p_k of the candidate, finite and not negative; empty: what is known says too little, keep the
  // previous one.
  virtual std::optional<double> Weigh(const Candidate& candidate) const = 0;

  // What no p of the members as they are now exceeds.
  virtual double LargestContribution(const Membership& membership) const = 0;

  // Can models be weighed by statistics of this validation set? The error says why not.
  virtual Result<void> Suits(const Declared& /*validation_set*/) const { return {}; }
};

}  // namespace metis::federation
