// A module that was scripted in Python (torch.jit.script, torch.jit.save), as a Network: trained as
// it is. The file holds code, so it must be the user's own; nothing that a peer sends is ever read
// this way. Includes libtorch.
//
// Dropout and other draws of the module come from libtorch's process-wide generator. Where a module
// draws, its forward passes are made one at a time in the whole process, each after the generator
// was set from the key of its mini-batch: results do not depend on other threads, at the price of
// less parallel work. Modules that draw nothing pay nothing.
#pragma once

#include <memory>
#include <string>

#include "metis/core/result.h"
#include "metis/train/architecture.h"
#include "metis/train/network.h"

namespace metis::train {

// Tries the module on two examples: it must give one score a class for each. Parameters must be
// float32.
Result<std::unique_ptr<Network>> LoadScript(const std::string& path,
                                            const ArchitectureSettings& settings);

}  // namespace metis::train
