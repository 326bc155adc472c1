// Learners' latest models, in memory up to a budget: beyond it the ones put longest ago, and always
// those that were set aside, are kept on disk only and read when they are needed. With a durable
// log their files are there already. Every snapshot refers to them: whoever takes one can remove
// the others. A model that the disk refuses stays in memory, so that results never depend on the
// disk. Owned by one Community; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "metis/federation/model_store.h"
#include "metis/store/blob_store.h"

namespace metis::store {

class SpillingModelStore final : public federation::ModelStore {
 public:
  // The blobs outlive it. A budget of 0 keeps no model in memory.
  SpillingModelStore(BlobStore& blobs, uint64_t budget_bytes);

  Result<void> Put(LearnerId learner, ModelPtr model) override;  // never fails
  Result<void> PutAll(const std::map<LearnerId, ModelPtr>& models) override;
  Result<ModelPtr> Get(LearnerId learner) const override;
  Result<StoredModel> Refer(LearnerId learner) const override;
  void Erase(LearnerId learner) override;
  void SetAside(LearnerId learner) override;  // only what is on the disk already

  uint64_t bytes_in_memory() const { return bytes_in_memory_; }

 private:
  struct Entry {
    ModelPtr model;            // null: on disk only
    std::string blob;          // its file; empty: in memory only
    uint64_t fingerprint = 0;  // of what is on disk only
    uint64_t put = 0;          // when, by a counter
  };
  void Spill();
  void LetGo(Entry& entry, std::string blob);

  BlobStore& blobs_;
  const uint64_t budget_bytes_;
  uint64_t next_put_ = 0;
  uint64_t bytes_in_memory_ = 0;
  std::map<LearnerId, Entry> entries_;
  std::map<uint64_t, LearnerId> by_age_;  // of those in memory
};

}  // namespace metis::store
