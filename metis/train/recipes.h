// The networks known by name (architecture.h), as recipes of layers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/train/architecture.h"
#include "metis/train/network.h"

namespace metis::train {

struct Recipe {
  Preparation preparation;
  std::unique_ptr<Network> network;
};

// For every name but torchscript:FILE.
Result<Recipe> MakeRecipe(const ArchitectureSettings& settings);

}  // namespace metis::train
