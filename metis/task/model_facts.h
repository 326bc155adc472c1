// What model files say about their models (docs/model-file.md), for all who write and read them,
// and the way from what a user names to an architecture. Pure functions, but for the files that
// they read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metis/core/result.h"
#include "metis/data/dataset.h"
#include "metis/data/load_data.h"
#include "metis/store/model_file.h"
#include "metis/train/architecture.h"

namespace metis::task {

// What a model is made for.
struct ExampleKind {
  data::Shape shape;
  uint32_t classes = 0;
  bool pixels = true;  // or numbers of any kind
};

// "3x32x32" (channels, height, width), "28x28", "20" (plain features).
Result<data::Shape> ParseShape(std::string_view text);

// Of a known set without having it; of a file by reading it.
Result<ExampleKind> KindOf(const data::DataSource& source);

// The name that stands for a model that suits the data, and the model that it stands for.
inline constexpr std::string_view kAutoModel = "auto";
std::string ModelFor(std::string_view dataset, const ExampleKind& kind);
// What training.model says for these data.
std::string NamedModel(const std::string& name, std::string_view dataset, const data::Dataset& set);

// With `seed` where the values are those that it draws.
store::ModelFacts FactsOf(const train::ArchitectureSettings& settings,
                          std::optional<uint64_t> seed);

// The facts as an architecture. A `name` that is not empty wins over that of the facts; what they
// leave out of shape and classes is taken from `data`.
Result<train::ArchitecturePtr> ArchitectureOf(const store::ModelFacts& facts,
                                              const std::string& name, const ExampleKind& data);

}  // namespace metis::task
