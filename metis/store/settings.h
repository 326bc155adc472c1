// What of a federation is kept on disk, and how safely.
#pragma once

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

}  // namespace metis::store
