// A disk that sometimes does not give a learner's latest model back (FaultRates::unreadable_model).
// It fails only while the controller handles an event: a fold of the log and the laws, which read
// as well, always find what is there. Owned by one simulated controller; a model costs a draw.
#pragma once

#include <utility>

#include "metis/core/text.h"
#include "metis/federation/model_store.h"
#include "metis/sim/world.h"

namespace metis::sim {

class UnreliableStore final : public federation::ModelStore {
 public:
  // `handling` says whether an event is being handled; both outlive the store.
  UnreliableStore(World& world, const bool& handling) : world_(world), handling_(handling) {}

  // PutAll() is the general one, which reads the old models first: rounds meet the fault, too.
  Result<void> Put(LearnerId learner, ModelPtr model) override {
    return store_.Put(learner, std::move(model));
  }
  Result<ModelPtr> Get(LearnerId learner) const override {
    Result<ModelPtr> model = store_.Get(learner);
    if (!model || !handling_) return model;
    const double rate = world_.faults.rates().unreadable_model;
    const bool strikes =
        world_.faults.Strikes(Fault::kUnreadableModel, rate, kControllerOwner, world_.queue.now());
    if (strikes) return Unavailable(Text("the model of learner ", learner, " cannot be read"));
    return model;
  }
  Result<StoredModel> Refer(LearnerId learner) const override { return store_.Refer(learner); }
  void Erase(LearnerId learner) override { store_.Erase(learner); }

 private:
  World& world_;
  const bool& handling_;
  federation::MemoryModelStore store_;
};

}  // namespace metis::sim
