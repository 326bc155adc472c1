#include "metis/federation/model_store.h"

#include "metis/core/text.h"

namespace metis::federation {

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
