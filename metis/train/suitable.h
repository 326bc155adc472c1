// Whether models and examples are those that an architecture was made for; errors say both sides.
#pragma once

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/train/architecture.h"
#include "metis/train/examples.h"

namespace metis::train {

Result<void> CheckSchema(const Model& model, const Architecture& architecture);
Result<void> CheckSuitable(const Architecture& architecture, const Examples& examples);

}  // namespace metis::train
