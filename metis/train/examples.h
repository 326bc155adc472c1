// The examples that one learner trains or evaluates on, and how each becomes a network's input:
// crop, scale, standardise. Pixels in, floats out; no libtorch. Pure functions: any thread may call
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "metis/core/random.h"
#include "metis/data/dataset.h"

namespace metis::train {

// Some examples of a data set with the labels that their holder believes in: those of the set,
// unless its labels are wrong. Immutable once made.
struct Examples {
  std::shared_ptr<const data::Dataset> set;
  std::vector<uint32_t> indices;
  std::vector<uint32_t> labels;  // one for each index

  // With the labels of the set. Checked: indices are within it.
  static Examples Of(std::shared_ptr<const data::Dataset> set, std::vector<uint32_t> indices);
  static Examples All(std::shared_ptr<const data::Dataset> set);

  size_t size() const { return indices.size(); }
  std::vector<uint64_t> ClassCounts() const;
};

// How an example becomes an input. A part of the architecture, the same at every learner; no
// statistics of anybody's data are needed.
struct Preparation {
  uint32_t height = 0;  // of the input; at most the example's own
  uint32_t width = 0;
  // (x - mean) / max(deviation, 1 / sqrt(values)) over the values of each image, pixels being 0 to
  // 255; else pixels become [0, 1] and features stay as they are.
  bool standardise = false;
  uint32_t margin = 0;  // zeros around an image from which a random crop is taken
};

// Where the crop of one example begins, in its coordinates; negative within the margin.
struct Placement {
  int64_t top = 0;
  int64_t left = 0;
  bool flip = false;  // left to right
};

Placement Centred(const data::Shape& example, const Preparation& preparation);
// Uniform over the places that the margin allows, mirrored every other time.
Placement DrawPlacement(const data::Shape& example, const Preparation& preparation, Random& random);

// Writes height * width * channels values, the channels of a place side by side.
void Prepare(const data::Dataset& set, uint32_t index, const Preparation& preparation,
             const Placement& placement, std::span<float> out);

}  // namespace metis::train
