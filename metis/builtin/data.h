// The built-in learning task: Gaussian classes, drawn from a seed. An example of class c is
//
//   x = mean_c + noise,   |mean_c| = separation,   noise of deviation 1 in every feature
//
// Labels are balanced: example i has class i mod classes, and is the same however many there are.
// The same bits on every platform: keyed draws, no libm beyond sqrt. Immutable: any thread may
// share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metis/builtin/settings.h"
#include "metis/core/model.h"

namespace metis::builtin {

struct ExampleSet {
  uint32_t features = 0;
  std::vector<uint32_t> labels;
  std::vector<double> values;  // example by example, `features` each

  size_t size() const { return labels.size(); }
  const double* example(size_t index) const { return values.data() + index * features; }
};

class GaussianTask {
 public:
  // Checked: at least one class and one feature.
  GaussianTask(const BuiltinData& data, uint64_t seed);

  uint32_t classes() const { return classes_; }
  uint32_t features() const { return features_; }
  const ExampleSet& training() const { return training_; }
  const ExampleSet& test() const { return test_; }
  std::span<const double> mean(uint32_t cls) const {
    return std::span(means_).subspan(size_t{cls} * features_, features_);
  }

  // Softmax regression: "weight" [classes, features] and "bias" [classes].
  const SchemaPtr& schema() const { return schema_; }
  // Small normal draws for weights, zero biases. Checked: the pool is of schema().
  ModelPtr InitialModel(ModelPool& pool) const;

 private:
  ExampleSet Draw(uint32_t count, uint64_t set) const;

  const uint32_t classes_;
  const uint32_t features_;
  const uint64_t seed_;
  SchemaPtr schema_;
  std::vector<double> means_;
  ExampleSet training_;
  ExampleSet test_;
};

}  // namespace metis::builtin
