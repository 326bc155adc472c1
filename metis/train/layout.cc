#include "metis/train/layout.h"

#include <utility>

#include "metis/core/check.h"

namespace metis::train {
namespace {

constexpr size_t kAlignment = 16;  // floats: a cache line

std::vector<int64_t> Strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  if (shape.size() == 4) {  // channels innermost
    strides = {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
    return strides;
  }
  int64_t step = 1;
  for (size_t i = shape.size(); i > 0; --i) {
    strides[i - 1] = step;
    step *= shape[i - 1];
  }
  return strides;
}

// libtorch has no tensor of constant values; nobody writes to this one.
at::Tensor Borrow(std::span<const float> values, const std::vector<int64_t>& shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);
}

}  // namespace

Result<Layout> Layout::Create(const std::vector<TensorRule>& rules, bool share_statistics) {
  Layout layout;
  std::vector<TensorSpec> specs;
  for (const TensorRule& rule : rules) {
    Place place;
    place.shape = rule.shape;
    place.strides = Strides(rule.shape);
    place.offset = layout.size_;
    place.size = 1;
    for (int64_t extent : rule.shape) place.size *= static_cast<size_t>(extent);
    place.trained = rule.kind == TensorRule::Kind::kTrained;
    place.shared = place.trained || share_statistics;
    if (place.shared) {
      place.schema_index = specs.size();
      specs.push_back({rule.name, {rule.shape.begin(), rule.shape.end()}});
    }
    layout.size_ += (place.size + kAlignment - 1) / kAlignment * kAlignment;
    layout.places_.push_back(std::move(place));
  }
  Result<SchemaPtr> schema = ModelSchema::Create(std::move(specs));
  if (!schema) return schema.error();
  layout.schema_ = std::move(*schema);
  return layout;
}

at::Tensor Layout::View(const at::Tensor& buffer, const Place& place) const {
  return buffer.as_strided(place.shape, place.strides, static_cast<int64_t>(place.offset));
}

void Layout::Bind(const at::Tensor& buffer, Instance& instance) const {
  std::vector<at::Tensor>& tensors = instance.tensors();
  METIS_CHECK(tensors.size() == places_.size());
  for (size_t i = 0; i < places_.size(); ++i) {
    tensors[i].set_data(View(buffer, places_[i]));
    tensors[i].mutable_grad().reset();
  }
}

void Layout::Read(const Model& model, const at::Tensor& buffer) const {
  METIS_CHECK(model.schema()->hash() == schema_->hash());
  at::NoGradGuard no_gradient;
  for (const Place& place : places_) {
    if (!place.shared) continue;
    View(buffer, place).copy_(Borrow(model.tensor(place.schema_index), place.shape));
  }
}

void Layout::Write(const at::Tensor& buffer, ModelDraft& draft) const {
  at::NoGradGuard no_gradient;
  for (const Place& place : places_) {
    if (!place.shared) continue;
    Borrow(draft.tensor(place.schema_index), place.shape).copy_(View(buffer, place));
  }
}

}  // namespace metis::train
