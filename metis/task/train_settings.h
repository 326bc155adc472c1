// What a centralised training (`metis train`) is asked for, and what follows from it:
// hyperparameters by model, the examples to train, validate and test on. Pure functions, but for
// the files that they read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metis/core/result.h"
#include "metis/data/load_data.h"
#include "metis/learner/settings.h"
#include "metis/train/examples.h"

namespace metis::task {

struct TrainSettings {
  std::string model;         // an architecture; empty: that of `init`
  std::string init;          // a model file to begin with; empty: the values that the seed draws
  data::DataSource source;   // what is learnt
  std::string test_file;     // what it is tested on; empty: the set's test part, or a share of it
  double test_fraction = 0;  // that share, of a file
  double validation_fraction = 0;  // of what remains; 0: no validation set
  uint32_t epochs = 10;
  uint64_t seed = 1990;
  learner::TrainingSettings training;
};

// Learning rate, momentum and batch size that are known to suit an architecture.
learner::TrainingSettings DefaultsFor(std::string_view model);

// Every setting with its value.
std::string FormatToml(const TrainSettings& settings);

std::string_view PrecisionName(learner::Precision precision);  // "fp32", "bf16"

struct TrainExamples {
  train::Examples training;
  train::Examples validation;  // empty unless asked for
  train::Examples test;
  uint32_t classes = 0;
};

// Splits are stratified and drawn from the seed.
Result<TrainExamples> LoadExamples(const TrainSettings& settings);

}  // namespace metis::task
