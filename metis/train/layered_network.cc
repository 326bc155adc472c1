#include "metis/train/layered_network.h"

#include <cmath>
#include <utility>

#include "metis/core/check.h"

namespace metis::train {
namespace {

using Kind = TensorRule::Kind;
using Start = TensorRule::Start;

constexpr double kBatchNormMomentum = 0.1;
constexpr double kBatchNormEpsilon = 1e-5;

at::Tensor Apply(const std::vector<LayerBuilder::Layer>& layers,
                 const LayerBuilder::Tensors& tensors, at::Tensor x, Mode mode) {
  for (const LayerBuilder::Layer& layer : layers) x = layer(tensors, x, mode);
  return x;
}

class LayeredNetwork final : public Network {
 public:
  LayeredNetwork(std::vector<TensorRule> rules, std::vector<LayerBuilder::Layer> layers)
      : layers_(std::move(layers)) {
    rules_ = std::move(rules);
  }

  std::unique_ptr<Instance> MakeInstance() const override {
    return std::make_unique<LayeredInstance>(*this);
  }

 private:
  class LayeredInstance final : public Instance {
   public:
    explicit LayeredInstance(const LayeredNetwork& network) : network_(network) {
      for (const TensorRule& rule : network.rules_) {
        tensors_.push_back(at::empty({0}).requires_grad_(rule.kind == Kind::kTrained));
      }
    }
    at::Tensor Forward(const at::Tensor& input, Mode mode, uint64_t /*draw*/) override {
      return Apply(network_.layers_, tensors_, input, mode);
    }

   private:
    const LayeredNetwork& network_;
  };

  std::vector<LayerBuilder::Layer> layers_;
};

// In: size of an axis. Out: its size after windows, the last of which may reach beyond the edge but
// must begin within the image (as libtorch counts).
uint32_t Windows(uint32_t size, uint32_t kernel, uint32_t stride, uint32_t padding) {
  METIS_CHECK(size + 2 * padding >= kernel);
  uint32_t windows = (size + 2 * padding - kernel + stride - 1) / stride + 1;
  if ((windows - 1) * stride >= size + padding) --windows;
  return windows;
}

}  // namespace

size_t LayerBuilder::Add(TensorRule rule) {
  rules_.push_back(std::move(rule));
  return rules_.size() - 1;
}

LayerBuilder& LayerBuilder::Convolution(const std::string& name,
                                        const ConvolutionSettings& settings) {
  const uint32_t window = settings.kernel * settings.kernel;
  const double fan_in = window * shape_.channels;
  const double fan_out = window * settings.filters;
  const double bound = 1 / std::sqrt(fan_in);
  const bool bias = settings.bias;
  const size_t weight =
      Add({.name = name + ".weight",
           .shape = {settings.filters, shape_.channels, settings.kernel, settings.kernel},
           .start = bias ? Start::kUniform : Start::kNormal,
           .spread = bias ? bound : std::sqrt(2 / fan_out)});
  if (bias) {
    Add({.name = name + ".bias",
         .shape = {settings.filters},
         .start = Start::kUniform,
         .spread = bound});
  }
  const int64_t stride = settings.stride;
  const int64_t padding = (settings.kernel - 1) / 2;
  layers_.emplace_back([=](const Tensors& tensors, const at::Tensor& x, Mode /*mode*/) {
    return at::conv2d(x, tensors[weight], bias ? tensors[weight + 1] : at::Tensor(),
                      {stride, stride}, {padding, padding});
  });
  const auto shrink = [&](uint32_t size) { return (size - 1) / settings.stride + 1; };
  shape_ = {settings.filters, shrink(shape_.height), shrink(shape_.width)};
  return *this;
}

LayerBuilder& LayerBuilder::BatchNorm(const std::string& name) {
  const std::vector<int64_t> shape = {shape_.channels};
  const size_t first = Add({.name = name + ".weight", .shape = shape, .start = Start::kOne});
  Add({.name = name + ".bias", .shape = shape});
  Add({.name = name + ".running_mean", .shape = shape, .kind = Kind::kStatistic});
  Add({.name = name + ".running_var",
       .shape = shape,
       .kind = Kind::kStatistic,
       .start = Start::kOne});
  layers_.emplace_back([first](const Tensors& t, const at::Tensor& x, Mode mode) {
    return at::batch_norm(x, t[first], t[first + 1], t[first + 2], t[first + 3],
                          mode != Mode::kEvaluation, kBatchNormMomentum, kBatchNormEpsilon,
                          /*cudnn_enabled=*/false);
  });
  return *this;
}

LayerBuilder& LayerBuilder::Relu() {
  layers_.emplace_back(
      [](const Tensors&, const at::Tensor& x, Mode /*mode*/) { return at::relu(x); });
  return *this;
}

LayerBuilder& LayerBuilder::MaxPool(uint32_t kernel, uint32_t stride, uint32_t padding) {
  const int64_t size = kernel;
  const int64_t step = stride;
  const int64_t margin = padding;
  layers_.emplace_back([=](const Tensors&, const at::Tensor& x, Mode /*mode*/) {
    return at::max_pool2d(x, {size, size}, {step, step}, {margin, margin}, {1, 1},
                          /*ceil_mode=*/true);
  });
  shape_.height = Windows(shape_.height, kernel, stride, padding);
  shape_.width = Windows(shape_.width, kernel, stride, padding);
  return *this;
}

LayerBuilder& LayerBuilder::ResponseNorm() {
  layers_.emplace_back(
      [](const Tensors&, const at::Tensor& x, Mode /*mode*/) { return ResponseNormalised(x); });
  return *this;
}

LayerBuilder& LayerBuilder::GlobalAveragePool() {
  layers_.emplace_back([](const Tensors&, const at::Tensor& x, Mode /*mode*/) {
    return at::mean(x, {2, 3}, true);
  });
  shape_.height = 1;
  shape_.width = 1;
  return *this;
}

LayerBuilder& LayerBuilder::Flatten() {
  layers_.emplace_back(
      [](const Tensors&, const at::Tensor& x, Mode /*mode*/) { return at::flatten(x, 1); });
  shape_ = {static_cast<uint32_t>(shape_.size()), 1, 1};
  return *this;
}

LayerBuilder& LayerBuilder::Linear(const std::string& name, uint32_t outputs) {
  METIS_CHECK(shape_.height == 1 && shape_.width == 1);
  const double bound = 1 / std::sqrt(static_cast<double>(shape_.channels));
  const size_t weight = Add({.name = name + ".weight",
                             .shape = {outputs, shape_.channels},
                             .start = Start::kUniform,
                             .spread = bound});
  Add({.name = name + ".bias", .shape = {outputs}, .start = Start::kUniform, .spread = bound});
  layers_.emplace_back([weight](const Tensors& tensors, const at::Tensor& x, Mode /*mode*/) {
    return at::linear(x, tensors[weight], tensors[weight + 1]);
  });
  shape_.channels = outputs;
  return *this;
}

// Both branches continue the numbering of tensors, then become one layer.
LayerBuilder& LayerBuilder::Residual(const Recipe& body, const Recipe& shortcut) {
  const auto branch = [this](const Recipe& recipe, data::Shape& end) {
    LayerBuilder inner(shape_);
    inner.rules_ = std::move(rules_);
    recipe(inner);
    rules_ = std::move(inner.rules_);
    end = inner.shape_;
    return std::move(inner.layers_);
  };
  data::Shape end;
  data::Shape shortcut_end = shape_;
  std::vector<Layer> long_way = branch(body, end);
  std::vector<Layer> short_way;
  if (shortcut) short_way = branch(shortcut, shortcut_end);
  METIS_CHECK(end == shortcut_end);
  shape_ = end;
  layers_.emplace_back([long_way = std::move(long_way), short_way = std::move(short_way)](
                           const Tensors& tensors, const at::Tensor& x, Mode mode) {
    return at::relu(Apply(long_way, tensors, x, mode) + Apply(short_way, tensors, x, mode));
  });
  return *this;
}

std::unique_ptr<Network> LayerBuilder::Build() && {
  return std::make_unique<LayeredNetwork>(std::move(rules_), std::move(layers_));
}

}  // namespace metis::train
