// Networks built of layers, and the builder that they are written with:
//
//   LayerBuilder layers(shape);                 // of the input
//   layers.Convolution("conv1", {.filters = 16, .kernel = 5}).Relu().MaxPool(2, 2);
//   layers.Flatten().Linear("fc1", 128).Relu().Linear("fc2", classes);
//   auto network = std::move(layers).Build();
//
// Tensors are named as a module of Python's torch would name them. Weights and biases begin uniform
// in +-1/sqrt(fan-in), as there; convolutions without a bias (before batch normalisation) normal
// with variance 2/fan-out. Includes libtorch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metis/data/dataset.h"
#include "metis/train/network.h"

namespace metis::train {

struct ConvolutionSettings {
  uint32_t filters = 0;
  uint32_t kernel = 3;
  uint32_t stride = 1;
  bool bias = true;
};

class LayerBuilder {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Layer = std::function<at::Tensor(const Tensors& tensors, const at::Tensor& x, Mode mode)>;

  explicit LayerBuilder(const data::Shape& input) : shape_(input) {}

  // Zero padding keeps height and width at stride 1.
  LayerBuilder& Convolution(const std::string& name, const ConvolutionSettings& settings);
  LayerBuilder& BatchNorm(const std::string& name);
  LayerBuilder& Relu();
  // The last window may reach beyond the edge; `padding` zeros before the first.
  LayerBuilder& MaxPool(uint32_t kernel, uint32_t stride, uint32_t padding = 0);
  // Local response normalisation over nine channels with k 1, alpha 0.001 and beta 0.75
  // (kernels.h).
  LayerBuilder& ResponseNorm();
  LayerBuilder& GlobalAveragePool();
  LayerBuilder& Flatten();
  LayerBuilder& Linear(const std::string& name, uint32_t outputs);
  // relu(body(x) + shortcut(x)); an empty shortcut is x itself.
  using Recipe = std::function<void(LayerBuilder&)>;
  LayerBuilder& Residual(const Recipe& body, const Recipe& shortcut);

  const data::Shape& shape() const { return shape_; }
  std::unique_ptr<Network> Build() &&;

 private:
  size_t Add(TensorRule rule);

  data::Shape shape_;
  std::vector<TensorRule> rules_;
  std::vector<Layer> layers_;
};

// Local response normalisation as the layer computes it, with its gradient; fp32 or bf16.
at::Tensor ResponseNormalised(const at::Tensor& x);

}  // namespace metis::train
