#include "metis/store/spilling_model_store.h"

#include <utility>

#include "metis/core/text.h"

namespace metis::store {

SpillingModelStore::SpillingModelStore(BlobStore& blobs, uint64_t budget_bytes)
    : blobs_(blobs), budget_bytes_(budget_bytes) {}

Result<void> SpillingModelStore::Put(LearnerId learner, ModelPtr model) {
  Erase(learner);
  bytes_in_memory_ += model->bytes().size();
  by_age_[next_put_] = learner;
  entries_[learner] = {.model = std::move(model), .blob = "", .put = next_put_++};
  Spill();
  return {};
}

Result<void> SpillingModelStore::PutAll(const std::map<LearnerId, ModelPtr>& models) {
  for (const auto& [learner, model] : models) {
    if (Result<void> put = Put(learner, model); !put) return put;
  }
  return {};
}

// Oldest first. What the disk refuses stays in memory, beyond the budget: the results must not
// depend on how full a disk is.
void SpillingModelStore::Spill() {
  for (auto oldest = by_age_.begin();
       oldest != by_age_.end() && bytes_in_memory_ > budget_bytes_;) {
    Entry& entry = entries_.at(oldest->second);
    Result<std::string> kept = blobs_.Keep(entry.model);
    if (!kept) return;
    oldest = by_age_.erase(oldest);
    LetGo(entry, *std::move(kept));
  }
}

void SpillingModelStore::LetGo(Entry& entry, std::string blob) {
  entry.blob = std::move(blob);
  entry.fingerprint = entry.model->Fingerprint();
  bytes_in_memory_ -= entry.model->bytes().size();
  entry.model = nullptr;
}

void SpillingModelStore::SetAside(LearnerId learner) {
  const auto found = entries_.find(learner);
  if (found == entries_.end() || !found->second.model) return;
  std::optional<std::string> kept = blobs_.Kept(found->second.model);
  if (!kept) return;
  by_age_.erase(found->second.put);
  LetGo(found->second, *std::move(kept));
}

Result<ModelPtr> SpillingModelStore::Get(LearnerId learner) const {
  const auto found = entries_.find(learner);
  if (found == entries_.end()) return NotFound(Text("learner ", learner, " has no model"));
  if (found->second.model) return found->second.model;
  return blobs_.Read(found->second.blob);
}

Result<StoredModel> SpillingModelStore::Refer(LearnerId learner) const {
  const auto found = entries_.find(learner);
  if (found == entries_.end()) return NotFound(Text("learner ", learner, " has no model"));
  const Entry& entry = found->second;
  return StoredModel{entry.model, entry.fingerprint, entry.blob};
}

void SpillingModelStore::Erase(LearnerId learner) {
  const auto found = entries_.find(learner);
  if (found == entries_.end()) return;
  if (found->second.model) {
    bytes_in_memory_ -= found->second.model->bytes().size();
    by_age_.erase(found->second.put);
  }
  entries_.erase(found);
}

}  // namespace metis::store
