// A model is a schema and one flat, 64-byte aligned float buffer. Names, shapes and offsets live in
// the schema, agreed once by its hash; aggregation is one pass over flat memory.
//
// Buffers are pooled, because the first touch of fresh memory is slower than any arithmetic on it:
//
//   ModelDraft draft = pool.Draft();          // takes a buffer, contents unspecified
//   Fill(draft.parameters());
//   ModelPtr model = std::move(draft).Seal(); // immutable from now on; the buffer returns to the
//   pool
//                                             // when the last holder lets go
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metis/core/result.h"

namespace metis {

// One tensor of float32 values, row-major.
struct TensorSpec {
  std::string name;
  std::vector<uint64_t> shape;  // empty: a scalar

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// "16x1x5x5"; "scalar" without dimensions.
std::string FormatShape(const std::vector<uint64_t>& shape);

// Names, shapes and offsets of all tensors of a model, in order. Immutable once created; shared
// freely.
class ModelSchema {
 public:
  // Fails on an empty list, an empty or repeated name, a zero dimension, more than 2^40 parameters.
  static Result<std::shared_ptr<const ModelSchema>> Create(std::vector<TensorSpec> tensors);

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  size_t offset(size_t tensor) const { return offsets_[tensor]; }  // in parameters
  size_t parameters(size_t tensor) const { return offsets_[tensor + 1] - offsets_[tensor]; }
  size_t parameters() const { return offsets_.back(); }  // M
  size_t bytes() const { return parameters() * sizeof(float); }
  // Of names, shapes and order: equal hashes mean that models can be mixed.
  uint64_t hash() const { return hash_; }

 private:
  ModelSchema() = default;

  std::vector<TensorSpec> tensors_;
  std::vector<size_t> offsets_;  // one more than tensors: the last is M
  uint64_t hash_ = 0;
};

using SchemaPtr = std::shared_ptr<const ModelSchema>;

namespace model_internal {
struct AlignedFree {
  void operator()(float* buffer) const;
};
using Buffer = std::unique_ptr<float[], AlignedFree>;
struct PoolState;
}  // namespace model_internal

// What whoever wrote a model found out on the way; trusted.
struct ModelDigest {
  uint64_t fingerprint = 0;
  float magnitude = 0;
};

// An immutable model. Shared between threads freely.
class Model {
 public:
  Model(SchemaPtr schema, model_internal::Buffer buffer,
        std::shared_ptr<model_internal::PoolState> pool, std::optional<ModelDigest> known);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const SchemaPtr& schema() const { return schema_; }
  size_t size() const { return schema_->parameters(); }
  std::span<const float> parameters() const { return {buffer_.get(), size()}; }
  std::span<const float> tensor(size_t index) const {
    return parameters().subspan(schema_->offset(index), schema_->parameters(index));
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(parameters()); }

  // The largest absolute value, +infinity if anything is NaN or infinite. O(M) on the first call
  // unless its writer knew it: the controller gets models whose value is known.
  float Magnitude() const;

  // Of the parameters' bytes. O(M) on the first call unless its writer knew it.
  uint64_t Fingerprint() const;

  // Of each part of kBlockBytes of the parameters' bytes, the last one may be shorter: whoever
  // sends a model to many looks at its bytes once. O(M) on the first call, which Fingerprint() may
  // have been.
  static constexpr size_t kBlockBytes = size_t{1} << 20;
  std::span<const uint64_t> BlockFingerprints() const;

 private:
  void FindFingerprints() const;  // one pass over memory for both

  SchemaPtr schema_;
  model_internal::Buffer buffer_;
  std::shared_ptr<model_internal::PoolState> pool_;
  const std::optional<ModelDigest> known_;
  mutable std::once_flag magnitude_once_;
  mutable std::once_flag fingerprints_once_;
  mutable float magnitude_ = 0;
  mutable uint64_t fingerprint_ = 0;
  mutable std::vector<uint64_t> blocks_;
};

using ModelPtr = std::shared_ptr<const Model>;

// A model that is being written. Movable, owned by one thread.
class ModelDraft {
 public:
  ModelDraft(SchemaPtr schema, model_internal::Buffer buffer,
             std::shared_ptr<model_internal::PoolState> pool);
  ModelDraft(ModelDraft&&) = default;
  ModelDraft& operator=(ModelDraft&& other) noexcept;  // `other` returns the replaced buffer
  ~ModelDraft();

  std::span<float> parameters() { return {buffer_.get(), schema_->parameters()}; }
  std::span<float> tensor(size_t index) {
    return parameters().subspan(schema_->offset(index), schema_->parameters(index));
  }
  ModelPtr Seal() &&;
  ModelPtr Seal(const ModelDigest& known) &&;

 private:
  SchemaPtr schema_;
  model_internal::Buffer buffer_;
  std::shared_ptr<model_internal::PoolState> pool_;
};

// Buffers of one schema's size, taken and returned by any thread. Outlived by its models without
// harm.
class ModelPool {
 public:
  explicit ModelPool(SchemaPtr schema);

  const SchemaPtr& schema() const { return schema_; }
  ModelDraft Draft();
  ModelPtr Copy(std::span<const float> parameters);  // checked: exactly M of them
  ModelPtr Zero();

  // How many buffers were ever allocated: flat once a federation runs.
  size_t allocated() const;

 private:
  SchemaPtr schema_;
  std::shared_ptr<model_internal::PoolState> state_;
};

}  // namespace metis
