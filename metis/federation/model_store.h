// Where the latest model of every learner is kept: in memory here, on disk or spilled to it
// elsewhere. One Community owns the use of a store; not thread-safe.
#pragma once

#include <map>

#include "metis/core/archive.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/result.h"

namespace metis::federation {

class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // Replaces the learner's model. On an error the old one is still there.
  virtual Result<void> Put(LearnerId learner, ModelPtr model) = 0;
  // All of them, or on an error none. A store whose Put() may fail reads the old ones first, to put
  // them back; one whose Put() cannot fail says so by its own PutAll(), and reads none.
  virtual Result<void> PutAll(const std::map<LearnerId, ModelPtr>& models);
  virtual Result<ModelPtr> Get(LearnerId learner) const = 0;
  // For an archive: a model that is only on disk is not read. An error if there is none.
  virtual Result<StoredModel> Refer(LearnerId learner) const;
  virtual void Erase(LearnerId learner) = 0;
  // The learner's model will hardly be read again before it is replaced: a store that has it on
  // disk may let go of its memory.
  virtual void SetAside(LearnerId) {}
};

class MemoryModelStore final : public ModelStore {
 public:
  Result<void> Put(LearnerId learner, ModelPtr model) override;
  Result<void> PutAll(const std::map<LearnerId, ModelPtr>& models) override;
  Result<ModelPtr> Get(LearnerId learner) const override;
  void Erase(LearnerId learner) override;

 private:
  std::map<LearnerId, ModelPtr> models_;
};

}  // namespace metis::federation
