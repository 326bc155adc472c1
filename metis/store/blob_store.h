// Models on disk, each in a file named by the SHA-256 of its bytes. A file is written whole (fsync,
// rename, fsync of the directory) or not at all, and checked whenever it is read. Thread-safe:
// several models are written at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "metis/core/model.h"
#include "metis/core/result.h"

namespace metis::store {

inline constexpr size_t kNameDigits = 64;  // of a model's name: SHA-256 in hex

class BlobStore {
 public:
  // Creates the directory if it is missing; files left by a crash while writing are removed.
  static Result<std::unique_ptr<BlobStore>> Open(const std::string& directory, ModelPool& pool);
  ~BlobStore();

  // The name of the model's file, which is durable when this returns. A model that was kept before
  // costs nothing (the same object) or its SHA-256 (equal values). kUnavailable: no space, no
  // permission.
  Result<std::string> Keep(const ModelPtr& model);
  // The name, if this object was kept before.
  std::optional<std::string> Kept(const ModelPtr& model) const;
  // Another size or another SHA-256 than its name's is an error that names the file.
  Result<ModelPtr> Read(const std::string& name) const;
  // Removes every file that is not named; models being kept meanwhile are spared.
  Result<void> RemoveAllBut(const std::set<std::string>& names);

  uint64_t bytes() const;  // on disk

 private:
  struct State;
  explicit BlobStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace metis::store
