#include "metis/federation/model_store.h"

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::federation {

Result<void> ModelStore::PutAll(const std::map<LearnerId, ModelPtr>& models) {
  std::map<LearnerId, ModelPtr> old_models;  // of those that have one
  for (const auto& [learner, model] : models) {
    Result<ModelPtr> old_model = Get(learner);
    if (old_model) {
      old_models[learner] = *std::move(old_model);
    } else if (old_model.error().code != ErrorCode::kNotFound) {
      return old_model.error();
    }
  }
  for (auto next = models.begin(); next != models.end(); ++next) {
    Result<void> put = Put(next->first, next->second);
    if (put) continue;
    for (auto done = models.begin(); done != next; ++done) {
      const LearnerId learner = done->first;
      auto old_model = old_models.find(learner);
      if (old_model == old_models.end()) {
        Erase(learner);
      } else {
        METIS_CHECK_MSG(Put(learner, old_model->second).ok(),
                        "a model could be neither replaced nor put back: the sums would be wrong");
      }
    }
    return put;
  }
  return {};
}

Result<StoredModel> ModelStore::Refer(LearnerId learner) const {
  Result<ModelPtr> model = Get(learner);
  if (!model) return model.error();
  return StoredModel{*std::move(model), 0, ""};
}

Result<void> MemoryModelStore::PutAll(const std::map<LearnerId, ModelPtr>& models) {
  for (const auto& [learner, model] : models) models_[learner] = model;
  return {};
}

Result<void> MemoryModelStore::Put(LearnerId learner, ModelPtr model) {
  models_[learner] = std::move(model);
  return {};
}

Result<ModelPtr> MemoryModelStore::Get(LearnerId learner) const {
  auto found = models_.find(learner);
  if (found == models_.end()) return NotFound(Text("no model of learner ", learner, " is stored"));
  return found->second;
}

void MemoryModelStore::Erase(LearnerId learner) { models_.erase(learner); }

}  // namespace metis::federation
