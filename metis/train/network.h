// What a model computes, apart from the values it computes with: the tensors it needs, how each
// begins, and the way from inputs to scores. A Network is immutable and shared; an Instance is one
// thread's means of computing, bound to whoever's values it is lent to. Includes libtorch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace metis::train {

enum class Mode {
  kTraining,
  kEvaluation,
  kBatchStatistics,  // evaluation by the statistics of the batch itself, where a model brings none
};

struct TensorRule {
  enum class Kind {
    kTrained,    // follows its gradient
    kStatistic,  // of batch normalisation: follows the data
  };
  enum class Start { kZero, kOne, kUniform, kNormal, kGiven };

  std::string name;
  std::vector<int64_t> shape;
  Kind kind = Kind::kTrained;
  Start start = Start::kZero;
  double spread = 0;  // kUniform: in [-spread, spread); kNormal: the deviation
};

class Instance {
 public:
  virtual ~Instance() = default;

  // In the order of Network::rules(): leaves whose storage is replaced when values are bound.
  std::vector<at::Tensor>& tensors() { return tensors_; }
  // Scores [batch, classes] of inputs [batch, channels, height, width]. `draw` keys what the
  // network draws (dropout). Throws what libtorch throws.
  virtual at::Tensor Forward(const at::Tensor& input, Mode mode, uint64_t draw) = 0;

 protected:
  std::vector<at::Tensor> tensors_;
};

class Network {
 public:
  virtual ~Network() = default;

  const std::vector<TensorRule>& rules() const { return rules_; }
  bool has_statistics() const;
  virtual std::unique_ptr<Instance> MakeInstance() const = 0;
  // The values with which tensor `index` begins, row-major; the same bits for the same seed on
  // every machine.
  virtual void Begin(size_t index, uint64_t seed, std::span<float> values) const;

 protected:
  std::vector<TensorRule> rules_;
};

}  // namespace metis::train
