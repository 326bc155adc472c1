// What learners' models are made into: one model. An aggregator is a part of the policy: one file
// in metis/policy. It keeps what it needs of every learner's latest model; when it is called, the
// protocol decides. Owned by one Controller.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/federation/community.h"
#include "metis/federation/model_store.h"
#include "metis/federation/settings.h"

namespace metis::federation {

class Aggregator {
 public:
  virtual ~Aggregator() = default;

  virtual const ModelPtr& Current() const = 0;
  // The definition of Current(), from scratch; Current() itself where there is none.
  virtual Result<ModelPtr> Recompute() const = 0;
  // p_k of the learner's latest model in the aggregate; empty if it has none there.
  virtual std::optional<double> contribution(LearnerId learner) const = 0;
  virtual double total_contribution() const = 0;

  // The weight of an update that is so many versions old, if the aggregator weighs by itself: then
  // no weighting is asked, and no update is evaluated.
  virtual std::optional<double> OwnWeight(uint64_t /*version_staleness*/) const {
    return std::nullopt;
  }

  // The learner's model becomes this one. `largest`: no p of any member exceeds it. On an error
  // the learner's model is what it was; Current() may have changed in its last bits.
  virtual Result<void> Replace(LearnerId learner, double contribution, ModelPtr model,
                               double largest) = 0;
  // The whole set at once, as a round ends: nobody else's model is part of it any longer. An error
  // changes nothing. Only of aggregators that serve rounds.
  virtual Result<void> ReplaceAll(std::vector<Contribution> contributions, double largest) = 0;

  // Can any learner's model be taken out? The error says why not.
  virtual Result<void> Withdrawable() const = 0;
  // Takes a learner's model out. An error if it has none, or none can be.
  virtual Result<void> Withdraw(LearnerId learner) = 0;

  // All of its state.
  virtual void Save(BinaryWriter& archive) const = 0;
  virtual Result<void> Restore(BinaryReader& archive) = 0;
};

// What an aggregator is built on; references outlive it.
struct AggregatorInputs {
  const Settings& settings;
  ModelPtr initial;
  ModelPool& pool;
  ModelStore& store;
};

}  // namespace metis::federation
