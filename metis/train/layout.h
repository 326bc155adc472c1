// Where the tensors of a network lie in a learner's working memory: one flat buffer, each tensor
// aligned, convolution weights with their channels innermost as the fast kernels read them. And the
// way to and from a Model, which is dense and row-major. Immutable: any thread may use it on
// buffers of its own. Includes libtorch.
#pragma once

#include <vector>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/train/network.h"

namespace metis::train {

class Layout {
 public:
  // Statistics that are not shared stand in the buffer, but not in the schema.
  static Result<Layout> Create(const std::vector<TensorRule>& rules, bool share_statistics);

  const SchemaPtr& schema() const { return schema_; }
  size_t size() const { return size_; }  // of a buffer, in floats

  struct Place {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    size_t offset = 0;
    size_t size = 0;
    bool trained = false;
    bool shared = false;
    size_t schema_index = 0;  // where shared
  };
  const std::vector<Place>& places() const { return places_; }

  // A tensor over its part of the buffer.
  at::Tensor View(const at::Tensor& buffer, const Place& place) const;
  // Lets the instance compute with the values of the buffer, in place.
  void Bind(const at::Tensor& buffer, Instance& instance) const;

  // Shared tensors only; the others stay.
  void Read(const Model& model, const at::Tensor& buffer) const;
  void Write(const at::Tensor& buffer, ModelDraft& draft) const;

 private:
  Layout() = default;

  SchemaPtr schema_;
  std::vector<Place> places_;
  size_t size_ = 0;
};

}  // namespace metis::train
