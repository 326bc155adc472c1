// What tests of training share: small data sets with classes that can be told apart. For tests
// only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/random.h"
#include "metis/data/dataset.h"
#include "metis/learner/settings.h"
#include "metis/train/architecture.h"
#include "metis/train/torch_trainer.h"

namespace metis::train {

// Images of noise with one bright square, whose place tells the class.
inline std::shared_ptr<const data::Dataset> Squares(const data::Shape& shape, uint32_t classes,
                                                    uint32_t examples, uint64_t seed = 3) {
  data::DatasetParts parts;
  parts.name = "squares";
  parts.shape = shape;
  parts.classes = classes;
  Random random({.seed = seed, .purpose = Purpose::kTest});
  const uint32_t side = shape.height / 4;
  for (uint32_t i = 0; i < examples; ++i) {
    const uint32_t label = i % classes;
    parts.labels.push_back(label);
    const uint32_t top = label * 7 % (shape.height - side);
    const uint32_t left = label * 5 % (shape.width - side);
    for (uint32_t c = 0; c < shape.channels; ++c) {
      for (uint32_t y = 0; y < shape.height; ++y) {
        for (uint32_t x = 0; x < shape.width; ++x) {
          const bool inside = y >= top && y < top + side && x >= left && x < left + side;
          parts.pixels.push_back(static_cast<uint8_t>(random.Below(80) + (inside ? 150 : 0)));
        }
      }
    }
  }
  Result<data::Dataset> made = data::Dataset::Make(std::move(parts));
  return std::make_shared<const data::Dataset>(std::move(*made));
}

// One learner with all of a data set, loaded with the initial model.
struct Bench {
  Bench(const std::string& name, std::shared_ptr<const data::Dataset> data,
        const learner::TrainingSettings& training, bool share_statistics = true)
      : set(std::move(data)),
        settings(training),
        architecture(*Architecture::For(name, *set, share_statistics)),
        pool(architecture->schema()),
        initial(architecture->Initial(pool, 1990)),
        trainer(Make(0)) {}

  std::unique_ptr<learner::Trainer> Make(uint64_t learner, uint64_t seed = 11) {
    auto made = *MakeTrainer(architecture, Examples::All(set), settings, pool, seed,
                             LearnerId(static_cast<uint32_t>(learner)));
    METIS_CHECK(made->Load(initial).ok());
    return made;
  }
  learner::Evaluation Evaluate(const ModelPtr& model) {
    return *(*MakeEvaluator(architecture, Examples::All(set), settings))->Evaluate(*model);
  }

  std::shared_ptr<const data::Dataset> set;
  learner::TrainingSettings settings;
  ArchitecturePtr architecture;
  ModelPool pool;
  ModelPtr initial;
  std::unique_ptr<learner::Trainer> trainer;
};

}  // namespace metis::train
