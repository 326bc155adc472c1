#include "metis/builtin/data.h"

#include <cmath>

#include "metis/core/check.h"
#include "metis/core/random.h"

namespace metis::builtin {
namespace {

// Sets are streams of their own: the `epoch` of an example's key.
constexpr uint64_t kTrainingSet = 1;
constexpr uint64_t kTestSet = 2;

// Large enough that two classes never start equal, small enough that no class starts preferred.
constexpr double kInitialDeviation = 0.01;

std::vector<double> DrawMeans(const BuiltinData& data, uint64_t seed) {
  std::vector<double> means;
  means.reserve(size_t{data.classes} * data.features);
  for (uint32_t c = 0; c < data.classes; ++c) {
    Random random({.seed = seed, .cycle = c, .purpose = Purpose::kClassMeans});
    std::vector<double> direction(data.features);
    double square = 0;
    while (square == 0) {
      for (double& part : direction) {
        part = random.Normal();
        square += part * part;
      }
    }
    double scale = data.separation / std::sqrt(square);
    for (double part : direction) means.push_back(part * scale);
  }
  return means;
}

}  // namespace

GaussianTask::GaussianTask(const BuiltinData& data, uint64_t seed)
    : classes_(data.classes), features_(data.features), seed_(seed) {
  METIS_CHECK(classes_ > 0 && features_ > 0);
  schema_ = *ModelSchema::Create({{"weight", {classes_, features_}}, {"bias", {classes_}}});
  means_ = DrawMeans(data, seed);
  training_ = Draw(data.training_examples, kTrainingSet);
  test_ = Draw(data.test_examples, kTestSet);
}

ExampleSet GaussianTask::Draw(uint32_t count, uint64_t set) const {
  ExampleSet examples;
  examples.features = features_;
  examples.labels.reserve(count);
  examples.values.reserve(size_t{count} * features_);
  for (uint32_t i = 0; i < count; ++i) {
    Random random({.seed = seed_, .cycle = i, .epoch = set, .purpose = Purpose::kExamples});
    uint32_t label = i % classes_;
    examples.labels.push_back(label);
    for (double center : mean(label)) examples.values.push_back(center + random.Normal());
  }
  return examples;
}

ModelPtr GaussianTask::InitialModel(ModelPool& pool) const {
  METIS_CHECK(pool.schema()->hash() == schema_->hash());
  Random random({.seed = seed_, .purpose = Purpose::kInitialModel});
  ModelDraft draft = pool.Draft();
  for (float& weight : draft.tensor(0)) {
    weight = static_cast<float>(kInitialDeviation * random.Normal());
  }
  for (float& bias : draft.tensor(1)) bias = 0;
  return std::move(draft).Seal();
}

}  // namespace metis::builtin
