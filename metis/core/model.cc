#include "metis/core/model.h"

#include <algorithm>
#include <new>
#include <set>

#include "metis/core/fingerprint.h"
#include "metis/core/kernels.h"
#include "metis/core/text.h"

namespace metis {

namespace model_internal {

constexpr std::align_val_t kAlignment{64};  // a cache line, and one AVX-512 register

void AlignedFree::operator()(float* buffer) const { ::operator delete[](buffer, kAlignment); }

// Synchronises itself: models return their buffers from whichever thread drops them last.
struct PoolState {
  explicit PoolState(size_t parameters) : parameters(parameters) {}

  Buffer Take() {
    {
      std::lock_guard lock(mutex);
      if (!free.empty()) {
        Buffer buffer = std::move(free.back());
        free.pop_back();
        return buffer;
      }
      ++allocated;
    }
    return Buffer(static_cast<float*>(::operator new[](parameters * sizeof(float), kAlignment)));
  }

  void Return(Buffer buffer) {
    if (!buffer) return;
    std::lock_guard lock(mutex);
    free.push_back(std::move(buffer));
  }

  const size_t parameters;
  mutable std::mutex mutex;
  std::vector<Buffer> free;
  size_t allocated = 0;
};

}  // namespace model_internal

using model_internal::Buffer;
using model_internal::PoolState;

std::string FormatShape(const std::vector<uint64_t>& shape) {
  std::vector<std::string> sizes;
  for (uint64_t size : shape) sizes.push_back(Text(size));
  return sizes.empty() ? "scalar" : Join(sizes, "x");
}

Result<SchemaPtr> ModelSchema::Create(std::vector<TensorSpec> tensors) {
  constexpr uint64_t kMaxParameters = uint64_t{1} << 40;
  if (tensors.empty()) return Invalid("a model schema needs at least one tensor");
  auto schema = std::shared_ptr<ModelSchema>(new ModelSchema());
  schema->offsets_.push_back(0);
  std::set<std::string> names;
  std::string canonical;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.name.empty()) return Invalid("a tensor of the schema has an empty name");
    if (!names.insert(tensor.name).second) {
      return Invalid(Text("tensor name \"", tensor.name, "\" stands twice in the schema"));
    }
    canonical += Text(tensor.name.size(), ":", tensor.name, "[");
    uint64_t count = 1;
    for (uint64_t dimension : tensor.shape) {
      canonical += Text(dimension, ",");
      if (dimension == 0 || dimension > kMaxParameters / count) {
        return Invalid(Text("tensor \"", tensor.name, "\" has dimension ", dimension,
                            ": must be at least 1, and at most 2^40 parameters in all"));
      }
      count *= dimension;
    }
    canonical += "]";
    if (schema->offsets_.back() + count > kMaxParameters) {
      return Invalid(Text("the schema exceeds 2^40 parameters at tensor \"", tensor.name, "\""));
    }
    schema->offsets_.push_back(schema->offsets_.back() + count);
  }
  schema->hash_ = metis::Fingerprint(canonical);
  schema->tensors_ = std::move(tensors);
  return SchemaPtr(std::move(schema));
}

Model::Model(SchemaPtr schema, Buffer buffer, std::shared_ptr<PoolState> pool,
             std::optional<ModelDigest> known)
    : schema_(std::move(schema)),
      buffer_(std::move(buffer)),
      pool_(std::move(pool)),
      known_(known) {}

Model::~Model() { pool_->Return(std::move(buffer_)); }

float Model::Magnitude() const {
  if (known_) return known_->magnitude;
  std::call_once(magnitude_once_,
                 [this] { magnitude_ = BestKernels().magnitude(buffer_.get(), size()); });
  return magnitude_;
}

uint64_t Model::Fingerprint() const {
  if (known_) return known_->fingerprint;
  std::call_once(fingerprints_once_, [this] { FindFingerprints(); });
  return fingerprint_;
}

std::span<const uint64_t> Model::BlockFingerprints() const {
  std::call_once(fingerprints_once_, [this] { FindFingerprints(); });
  return blocks_;
}

void Model::FindFingerprints() const {
  const std::span<const std::byte> all = bytes();
  if (all.size() <= kBlockBytes) {
    fingerprint_ = metis::Fingerprint(all);
    blocks_ = {fingerprint_};
    return;
  }
  constexpr size_t kHot = size_t{16} << 10;  // read from memory once, and twice from the cache
  RunningFingerprint whole;
  RunningFingerprint block;
  for (size_t at = 0; at < all.size(); at += kBlockBytes) {
    const std::span<const std::byte> part = all.subspan(at, std::min(kBlockBytes, all.size() - at));
    block.Reset();
    for (size_t of = 0; of < part.size(); of += kHot) {
      const std::span<const std::byte> hot = part.subspan(of, std::min(kHot, part.size() - of));
      block.Add(hot);
      whole.Add(hot);
    }
    blocks_.push_back(block.value());
  }
  fingerprint_ = whole.value();
}

ModelDraft::ModelDraft(SchemaPtr schema, Buffer buffer, std::shared_ptr<PoolState> pool)
    : schema_(std::move(schema)), buffer_(std::move(buffer)), pool_(std::move(pool)) {}

ModelDraft::~ModelDraft() {
  if (pool_) pool_->Return(std::move(buffer_));
}

ModelDraft& ModelDraft::operator=(ModelDraft&& other) noexcept {
  std::swap(schema_, other.schema_);
  std::swap(buffer_, other.buffer_);
  std::swap(pool_, other.pool_);
  return *this;
}

ModelPtr ModelDraft::Seal() && {
  return std::make_shared<const Model>(std::move(schema_), std::move(buffer_), std::move(pool_),
                                       std::nullopt);
}

ModelPtr ModelDraft::Seal(const ModelDigest& known) && {
  return std::make_shared<const Model>(std::move(schema_), std::move(buffer_), std::move(pool_),
                                       known);
}

ModelPool::ModelPool(SchemaPtr schema)
    : schema_(std::move(schema)), state_(std::make_shared<PoolState>(schema_->parameters())) {}

ModelDraft ModelPool::Draft() { return ModelDraft(schema_, state_->Take(), state_); }

ModelPtr ModelPool::Copy(std::span<const float> parameters) {
  METIS_CHECK(parameters.size() == schema_->parameters());
  ModelDraft draft = Draft();
  std::ranges::copy(parameters, draft.parameters().begin());
  return std::move(draft).Seal();
}

ModelPtr ModelPool::Zero() {
  ModelDraft draft = Draft();
  std::ranges::fill(draft.parameters(), 0.0f);
  return std::move(draft).Seal();
}

size_t ModelPool::allocated() const {
  std::lock_guard lock(state_->mutex);
  return state_->allocated;
}

}  // namespace metis
