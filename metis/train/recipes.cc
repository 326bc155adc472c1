#include "metis/train/recipes.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/train/layered_network.h"

namespace metis::train {
namespace {

constexpr uint32_t kMostUnits = 1U << 20;
constexpr uint32_t kMostLayers = 1202;  // the deepest residual network that was published for CIFAR
constexpr uint32_t kMargin = 4;         // of a random crop (CIFAR)
constexpr uint32_t kCifarCrop = 24;

Result<uint32_t> ParseWithin(std::string_view text, uint32_t least, uint32_t most,
                             std::string_view what) {
  const std::optional<uint32_t> number = ParseNumber<uint32_t>(text);
  if (number && *number >= least && *number <= most) return *number;
  return Invalid(Text("\"", text, "\" is no ", what, ": a number from ", least, " to ", most));
}

Result<void> CheckAtLeast(const ArchitectureSettings& settings, uint32_t side) {
  const data::Shape& shape = settings.example;
  if (shape.height >= side && shape.width >= side) return {};
  return Invalid(Text(settings.name, " needs images of at least ", side, "x", side,
                      ", the examples are ", FormatShape(shape),
                      ": try mlp or logistic for small images and plain features"));
}

Preparation Whole(const data::Shape& shape, bool standardise = false) {
  return {.height = shape.height, .width = shape.width, .standardise = standardise};
}

// Two convolutions, each with a pool of 2, one hidden layer: mnist-cnn and femnist-cnn.
Result<Recipe> TwoConvolutions(const ArchitectureSettings& settings, uint32_t filters,
                               uint32_t units) {
  if (Result<void> fits = CheckAtLeast(settings, 4); !fits) return fits.error();
  LayerBuilder layers(settings.example);
  layers.Convolution("conv1", {.filters = filters, .kernel = 5}).Relu().MaxPool(2, 2);
  layers.Convolution("conv2", {.filters = 2 * filters, .kernel = 5}).Relu().MaxPool(2, 2);
  layers.Flatten().Linear("fc1", units).Relu().Linear("fc2", settings.classes);
  return Recipe{Whole(settings.example), std::move(layers).Build()};
}

Result<Recipe> CifarTenCnn(const ArchitectureSettings& settings) {
  if (Result<void> fits = CheckAtLeast(settings, kCifarCrop); !fits) return fits.error();
  LayerBuilder layers({settings.example.channels, kCifarCrop, kCifarCrop});
  layers.Convolution("conv1", {.filters = 64, .kernel = 5}).Relu().MaxPool(3, 2).ResponseNorm();
  layers.Convolution("conv2", {.filters = 64, .kernel = 5}).Relu().ResponseNorm().MaxPool(3, 2);
  layers.Flatten().Linear("fc1", 384).Relu().Linear("fc2", 192).Relu();
  layers.Linear("fc3", settings.classes);
  return Recipe{{.height = kCifarCrop, .width = kCifarCrop, .standardise = true},
                std::move(layers).Build()};
}

void BasicBlock(LayerBuilder& layers, const std::string& name, uint32_t filters, uint32_t stride) {
  const bool same = stride == 1 && layers.shape().channels == filters;
  layers.Residual(
      [&](LayerBuilder& body) {
        body.Convolution(name + ".conv1", {.filters = filters, .stride = stride, .bias = false});
        body.BatchNorm(name + ".bn1").Relu();
        body.Convolution(name + ".conv2", {.filters = filters, .bias = false});
        body.BatchNorm(name + ".bn2");
      },
      same ? LayerBuilder::Recipe() : [&](LayerBuilder& shortcut) {
        shortcut.Convolution(name + ".downsample.0",
                             {.filters = filters, .kernel = 1, .stride = stride, .bias = false});
        shortcut.BatchNorm(name + ".downsample.1");
      });
}

Result<Recipe> CifarResidual(const ArchitectureSettings& settings, std::string_view depth_text) {
  Result<uint32_t> depth = ParseWithin(depth_text, 8, kMostLayers, "depth of resnet-cifar");
  if (!depth) return depth.error();
  if ((*depth - 2) % 6 != 0) {
    return Invalid(Text("resnet-cifar:", *depth, ": the depth must be 6n+2: 8, 14, 20, 32, 44, ",
                        "50, 56, 110"));
  }
  if (Result<void> fits = CheckAtLeast(settings, 8); !fits) return fits.error();
  LayerBuilder layers(settings.example);
  layers.Convolution("conv1", {.filters = 16, .bias = false}).BatchNorm("bn1").Relu();
  for (uint32_t stage = 0; stage < 3; ++stage) {
    for (uint32_t block = 0; block < (*depth - 2) / 6; ++block) {
      BasicBlock(layers, Text("layer", stage + 1, ".", block), 16U << stage,
                 stage > 0 && block == 0 ? 2 : 1);
    }
  }
  layers.GlobalAveragePool().Flatten().Linear("fc", settings.classes);
  Preparation preparation = Whole(settings.example, true);
  preparation.margin = kMargin;
  return Recipe{preparation, std::move(layers).Build()};
}

void Bottleneck(LayerBuilder& layers, const std::string& name, uint32_t filters, uint32_t stride,
                bool first) {
  layers.Residual(
      [&](LayerBuilder& body) {
        body.Convolution(name + ".conv1", {.filters = filters, .kernel = 1, .bias = false});
        body.BatchNorm(name + ".bn1").Relu();
        body.Convolution(name + ".conv2", {.filters = filters, .stride = stride, .bias = false});
        body.BatchNorm(name + ".bn2").Relu();
        body.Convolution(name + ".conv3", {.filters = 4 * filters, .kernel = 1, .bias = false});
        body.BatchNorm(name + ".bn3");
      },
      !first ? LayerBuilder::Recipe() : [&](LayerBuilder& shortcut) {
        shortcut.Convolution(
            name + ".downsample.0",
            {.filters = 4 * filters, .kernel = 1, .stride = stride, .bias = false});
        shortcut.BatchNorm(name + ".downsample.1");
      });
}

Result<Recipe> ResNetFifty(const ArchitectureSettings& settings) {
  if (Result<void> fits = CheckAtLeast(settings, 32); !fits) return fits.error();
  constexpr uint32_t kBlocks[] = {3, 4, 6, 3};
  LayerBuilder layers(settings.example);
  layers.Convolution("conv1", {.filters = 64, .kernel = 7, .stride = 2, .bias = false});
  layers.BatchNorm("bn1").Relu().MaxPool(3, 2, 1);
  for (uint32_t stage = 0; stage < 4; ++stage) {
    for (uint32_t block = 0; block < kBlocks[stage]; ++block) {
      Bottleneck(layers, Text("layer", stage + 1, ".", block), 64U << stage,
                 stage > 0 && block == 0 ? 2 : 1, block == 0);
    }
  }
  layers.GlobalAveragePool().Flatten().Linear("fc", settings.classes);
  Preparation preparation = Whole(settings.example, true);
  preparation.margin = kMargin;
  return Recipe{preparation, std::move(layers).Build()};
}

// `units` are those of the hidden layers, "A,B,..."; empty for none.
Result<Recipe> Perceptron(const ArchitectureSettings& settings, std::string_view units) {
  LayerBuilder layers(settings.example);
  layers.Flatten();
  std::vector<std::string_view> hidden;
  if (!units.empty()) hidden = Split(units, ',');
  for (size_t i = 0; i < hidden.size(); ++i) {
    Result<uint32_t> outputs =
        ParseWithin(hidden[i], 1, kMostUnits, "number of units of an mlp layer");
    if (!outputs) return outputs.error();
    layers.Linear(Text("fc", i + 1), *outputs).Relu();
  }
  layers.Linear("out", settings.classes);
  return Recipe{Whole(settings.example), std::move(layers).Build()};
}

}  // namespace

Result<Recipe> MakeRecipe(const ArchitectureSettings& settings) {
  const std::string_view name = settings.name;
  if (name == "mnist-cnn") return TwoConvolutions(settings, 16, 128);
  if (name == "femnist-cnn") return TwoConvolutions(settings, 32, 2048);
  if (name == "cifar10-cnn") return CifarTenCnn(settings);
  if (name == "resnet50") return ResNetFifty(settings);
  if (name == "logistic") return Perceptron(settings, "");
  if (name == "mlp") return Perceptron(settings, "128");
  constexpr std::string_view kResidual = "resnet-cifar:";
  if (name.starts_with(kResidual)) {
    return CifarResidual(settings, name.substr(kResidual.size()));
  }
  constexpr std::string_view kPerceptron = "mlp:";
  if (name.starts_with(kPerceptron) && name.size() > kPerceptron.size()) {
    return Perceptron(settings, name.substr(kPerceptron.size()));
  }
  const std::string near = Nearest(name, ArchitectureNames());
  return NotFound(Text("there is no model \"", name, "\"",
                       near.empty() ? "" : Text(", did you mean \"", near, "\"?"), "\nKnown are ",
                       Join(ArchitectureNames()), "."));
}

}  // namespace metis::train
