#include "metis/train/suitable.h"

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::train {

Result<void> CheckSchema(const Model& model, const Architecture& architecture) {
  const ModelSchema& given = *model.schema();
  const ModelSchema& own = *architecture.schema();
  if (given.hash() == own.hash()) return {};
  return Invalid(Text("the model has ", given.tensors().size(), " tensors and ", given.parameters(),
                      " parameters (schema ", Hex(given.hash()), "), ", architecture.name(),
                      " has ", own.tensors().size(), " and ", own.parameters(), " (schema ",
                      Hex(own.hash()),
                      "): was it made for another architecture, other classes or another shape?"));
}

Result<void> CheckSuitable(const Architecture& architecture, const Examples& examples) {
  const ArchitectureSettings& made_for = architecture.settings();
  const data::Dataset& set = *examples.set;
  if (set.shape() == made_for.example && set.classes() <= made_for.classes) return {};
  return Invalid(Text(architecture.name(), " was made for examples of ",
                      FormatShape(made_for.example), " in ", made_for.classes, " classes, ",
                      set.name(), " has ", FormatShape(set.shape()), " in ", set.classes(),
                      ": initialise the model for this data set"));
}

}  // namespace metis::train
