// What of a federation is kept on disk, and how safely.
#pragma once

#include <algorithm>
#include <cstdint>

namespace metis::store {

enum class Durability {
  kFull,  // an event and its model are on the disk before anything that follows from them leaves
  kNone,  // nothing survives the controller's process: for speed alone
};

struct StorageSettings {
  Durability durability = Durability::kFull;
  uint32_t snapshot_every = 1000;  // events
  // Learners' latest models beyond this are read from the disk when they are needed; 0: no bound.
  uint64_t memory_mb = 0;

  friend bool operator==(const StorageSettings&, const StorageSettings&) = default;
};

// Of a finished round: on the disk they cost no memory, without a disk as much as those of the
// next.
inline bool KeepsModels(const StorageSettings& storage) {
  return storage.durability == Durability::kFull || storage.memory_mb > 0;
}

// Bytes of models between two snapshots, beyond which one is saved whatever the number of events:
// models of updates stay on the disk until then.
inline uint64_t LogBudget(uint32_t learners, uint64_t model_bytes) {
  constexpr uint64_t kSmall = 1'000'000'000;
  return std::max(kSmall, 2 * learners * model_bytes);
}

}  // namespace metis::store
