#include "metis/train/examples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "metis/core/check.h"

namespace metis::train {
namespace {

constexpr float kPixelScale = 1.0F / 255;

// Source columns of one row: a mirrored crop reads them backwards.
template <typename Value>
void CopyCrop(std::span<const Value> values, const data::Shape& shape,
              const Preparation& preparation, const Placement& placement, float scale,
              std::span<float> out) {
  const size_t channels = shape.channels;
  const auto height = static_cast<int64_t>(shape.height);
  const auto width = static_cast<int64_t>(shape.width);
  if (placement.top < 0 || placement.left < 0 || placement.top + preparation.height > height ||
      placement.left + preparation.width > width) {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  for (size_t c = 0; c < channels; ++c) {
    const Value* plane = values.data() + c * shape.height * shape.width;
    for (int64_t y = 0; y < preparation.height; ++y) {
      const int64_t from_y = placement.top + y;
      if (from_y < 0 || from_y >= height) continue;
      const Value* row = plane + from_y * width;
      float* to = out.data() + static_cast<size_t>(y) * preparation.width * channels + c;
      // The columns that lie within the image, then each to its place.
      const int64_t first = std::max<int64_t>(0, -placement.left);
      const int64_t last = std::min<int64_t>(preparation.width, width - placement.left);
      for (int64_t x = first; x < last; ++x) {
        const int64_t place = placement.flip ? preparation.width - 1 - x : x;
        to[static_cast<size_t>(place) * channels] =
            static_cast<float>(row[placement.left + x]) * scale;
      }
    }
  }
}

void Standardise(std::span<float> values) {
  double sum = 0;
  double squares = 0;
  for (float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  const auto centre = static_cast<float>(mean);
  const auto inverse = static_cast<float>(1 / std::max(deviation, 1 / std::sqrt(count)));
  for (float& value : values) value = (value - centre) * inverse;
}

}  // namespace

Examples Examples::Of(std::shared_ptr<const data::Dataset> set, std::vector<uint32_t> indices) {
  std::vector<uint32_t> labels;
  labels.reserve(indices.size());
  for (uint32_t index : indices) {
    METIS_CHECK(index < set->size());
    labels.push_back(set->labels()[index]);
  }
  return {std::move(set), std::move(indices), std::move(labels)};
}

Examples Examples::All(std::shared_ptr<const data::Dataset> set) {
  std::vector<uint32_t> indices(set->size());
  std::iota(indices.begin(), indices.end(), 0U);
  return Of(std::move(set), std::move(indices));
}

std::vector<uint64_t> Examples::ClassCounts() const {
  std::vector<uint64_t> counts(set->classes());
  for (uint32_t label : labels) ++counts[label];
  return counts;
}

Placement Centred(const data::Shape& example, const Preparation& preparation) {
  return {(int64_t{example.height} - preparation.height) / 2,
          (int64_t{example.width} - preparation.width) / 2, false};
}

Placement DrawPlacement(const data::Shape& example, const Preparation& preparation,
                        Random& random) {
  const int64_t margin = preparation.margin;
  const auto draw = [&](uint32_t size, uint32_t crop) {
    const auto places = uint64_t{size} - crop + 2 * uint64_t{preparation.margin} + 1;
    return static_cast<int64_t>(random.Below(places)) - margin;
  };
  Placement placement;
  placement.top = draw(example.height, preparation.height);
  placement.left = draw(example.width, preparation.width);
  placement.flip = random.Chance(0.5);
  return placement;
}

void Prepare(const data::Dataset& set, uint32_t index, const Preparation& preparation,
             const Placement& placement, std::span<float> out) {
  METIS_CHECK(out.size() == size_t{preparation.height} * preparation.width * set.shape().channels);
  if (set.has_pixels()) {
    // The floor under the deviation is meant for pixels as they are.
    const float scale = preparation.standardise ? 1.0F : kPixelScale;
    CopyCrop(set.Pixels(index), set.shape(), preparation, placement, scale, out);
  } else {
    CopyCrop(set.Features(index), set.shape(), preparation, placement, 1.0F, out);
  }
  if (preparation.standardise) Standardise(out);
}

}  // namespace metis::train
