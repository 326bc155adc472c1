#include "metis/task/model_facts.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "metis/core/display.h"
#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/core/version.h"

namespace metis::task {
namespace {

constexpr const char* kArchitecture = "architecture";
constexpr const char* kExample = "example";
constexpr const char* kClasses = "classes";
constexpr const char* kSeed = "seed";
constexpr const char* kShareStatistics = "share_statistics";
constexpr const char* kProgram = "metis";
constexpr uint32_t kCoarseClasses = 20;  // of CIFAR-100

bool ReadNumber(std::string_view text, uint32_t most, uint32_t& number) {
  number = ParseNumber<uint32_t>(text).value_or(0);
  return number >= 1 && number <= most;
}

}  // namespace

Result<data::Shape> ParseShape(std::string_view text) {
  std::vector<uint32_t> sizes;
  uint64_t product = 1;
  for (std::string_view rest = text; product > 0;) {
    const size_t cross = std::min(rest.find('x'), rest.size());
    uint32_t size = 0;
    if (!ReadNumber(rest.substr(0, cross), data::kMostValuesPerExample, size)) product = 0;
    sizes.push_back(size);
    product *= size;
    if (product > data::kMostValuesPerExample || sizes.size() > 3) product = 0;
    if (cross == rest.size()) break;
    rest.remove_prefix(cross + 1);
  }
  if (product == 0) {
    return Invalid(Text("\"", Printable(text), "\" is no shape of examples: write channels, ",
                        "height and width as 3x32x32, or the number of plain features as 20; at ",
                        "most ", data::kMostValuesPerExample, " values"));
  }
  sizes.insert(sizes.begin(), 3 - sizes.size(), 1);
  return data::Shape{sizes[0], sizes[1], sizes[2]};
}

Result<ExampleKind> KindOf(const data::DataSource& source) {
  if (const data::KnownSet* known = data::FindKnown(source.what)) {
    const bool coarse =
        source.options.coarse_labels && known->format == data::KnownFormat::kCifarHundred;
    return ExampleKind{data::ShapeOf(*known), coarse ? kCoarseClasses : known->classes};
  }
  Result<data::LoadedData> loaded = data::LoadData(source);
  if (!loaded) return loaded.error();
  return ExampleKind{loaded->train.shape(), loaded->train.classes(), loaded->train.has_pixels()};
}

std::string ModelFor(std::string_view dataset, const ExampleKind& kind) {
  if (dataset == "cifar10") return "cifar10-cnn";
  if (dataset == "cifar100") return "resnet-cifar:50";
  if (dataset.starts_with("emnist") || dataset.find("femnist") != dataset.npos) {
    return "femnist-cnn";
  }
  const bool images = kind.pixels && kind.shape.height >= 12 && kind.shape.width >= 12;
  return images ? "mnist-cnn" : "mlp:128";
}

std::string NamedModel(const std::string& name, std::string_view dataset,
                       const data::Dataset& set) {
  if (name != kAutoModel) return name;
  return ModelFor(dataset, {set.shape(), set.classes(), set.has_pixels()});
}

store::ModelFacts FactsOf(const train::ArchitectureSettings& settings,
                          std::optional<uint64_t> seed) {
  store::ModelFacts facts = {{kArchitecture, settings.name},
                             {kExample, data::FormatShape(settings.example)},
                             {kClasses, Text(settings.classes)},
                             {kShareStatistics, settings.share_statistics ? "true" : "false"},
                             {kProgram, std::string(ProgramVersion())}};
  if (seed) facts[kSeed] = Text(*seed);
  return facts;
}

Result<train::ArchitecturePtr> ArchitectureOf(const store::ModelFacts& facts,
                                              const std::string& name, const ExampleKind& data) {
  const auto fact = [&facts](const char* key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
  };
  train::ArchitectureSettings settings = {.name = name.empty() ? fact(kArchitecture) : name,
                                          .example = data.shape,
                                          .classes = data.classes,
                                          .share_statistics = fact(kShareStatistics) != "false"};
  if (settings.name.empty()) {
    return Invalid(Text("the file does not say which architecture its model is of: name it with ",
                        "--model (", Join(train::ArchitectureNames()), ")"));
  }
  if (const std::string text = fact(kExample); !text.empty()) {
    Result<data::Shape> shape = ParseShape(text);
    if (!shape) return shape.error().In(Text("fact \"", kExample, "\""));
    settings.example = *shape;
  }
  const std::string classes = fact(kClasses);
  if (!classes.empty() && !ReadNumber(classes, data::kMostClasses, settings.classes)) {
    return Invalid(Text("fact \"", kClasses, "\" is \"", Printable(classes), "\": expected is a ",
                        "number from 1 to ", data::kMostClasses));
  }
  return train::Architecture::Create(settings);
}

}  // namespace metis::task
