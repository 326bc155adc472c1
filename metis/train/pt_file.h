// Tensors to and from a .pt file: a dictionary of named tensors as Python's torch.save writes it
// for a state_dict and torch.load opens it. No libtorch in this header. For files of the user's
// own; nothing that a peer sends is read this way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/core/result.h"

namespace metis::train {

// Float tensors by their names, in the order of the schema. Replaces the file, if there is one.
Result<void> WritePt(const std::string& path, const Model& model);

struct PtTensor {
  TensorSpec spec;
  std::vector<float> values;  // row-major
};

// The floating-point tensors of a state_dict, or of a module saved with torch.jit.save, in the
// order of the file. Integers (counters of batches) are left out. Anything else that pickle can
// hold is refused.
Result<std::vector<PtTensor>> ReadPt(const std::string& path);

// A model of that schema out of tensors of the same names and shapes, in any order; an error says
// which is missing, too many or of another shape.
Result<ModelPtr> FitTo(const std::vector<PtTensor>& tensors, ModelPool& pool);

}  // namespace metis::train
