// A store of models that remembers the first time it failed. What a controller decides once a model
// could not be read (it refuses the update) does not follow from its events: whoever folds them
// again, on a disk that reads, decides otherwise. Like every store it belongs to one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "metis/core/result.h"
#include "metis/federation/model_store.h"

namespace metis::drivers {

class WatchedStore final : public federation::ModelStore {
 public:
  explicit WatchedStore(std::unique_ptr<federation::ModelStore> store) : store_(std::move(store)) {}

  Result<void> Put(LearnerId learner, ModelPtr model) override {
    return Noted(store_->Put(learner, std::move(model)));
  }
  Result<void> PutAll(const std::map<LearnerId, ModelPtr>& models) override {
    return Noted(store_->PutAll(models));
  }
  Result<ModelPtr> Get(LearnerId learner) const override { return Noted(store_->Get(learner)); }
  Result<StoredModel> Refer(LearnerId learner) const override { return store_->Refer(learner); }
  void Erase(LearnerId learner) override { store_->Erase(learner); }
  void SetAside(LearnerId learner) override { store_->SetAside(learner); }

  // Empty: it has never failed.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  template <typename T>
  Result<T> Noted(Result<T> outcome) const {
    if (!outcome && !failure_) failure_ = outcome.error();
    return outcome;
  }

  const std::unique_ptr<federation::ModelStore> store_;
  mutable std::optional<Error> failure_;
};

}  // namespace metis::drivers
