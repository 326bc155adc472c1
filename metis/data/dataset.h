// A data set in memory: examples of one shape, as 8-bit pixels or as float features, with their
// classes and, where known, who wrote each. All examples lie in one flat buffer, one after the
// other, each as planes of rows (channels, height, width). Immutable once made: any thread may read
// it. Movable, not copyable: a copy of a data set is nearly always a mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

// Plain features are one row: {1, 1, features}.
struct Shape {
  uint32_t channels = 1;
  uint32_t height = 1;
  uint32_t width = 1;

  size_t size() const { return size_t{channels} * height * width; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// "3x32x32"
std::string FormatShape(const Shape& shape);

// Limits that keep every product of counts within 64 bits, and an example's index within 32.
inline constexpr uint32_t kMostExamples = 1u << 31;
inline constexpr uint32_t kMostClasses = 1u << 20;
inline constexpr uint32_t kMostValuesPerExample = 1u << 26;

// What a reader gathers; Dataset::Make() checks that it fits together.
struct DatasetParts {
  std::string name;
  Shape shape;
  std::vector<uint8_t> pixels;           // either these
  std::vector<float> features;           // or these
  std::vector<uint32_t> labels;          // one an example, below `classes`
  uint32_t classes = 0;                  // 0: one more than the largest label
  std::vector<std::string> class_names;  // empty, or one a class
  std::vector<uint32_t> writers;         // empty, or one an example: an index of writer_names
  std::vector<std::string> writer_names;
};

class Dataset {
 public:
  // Fails on counts that do not match, on a label or writer out of range (naming the example), on a
  // feature that is not finite, and on a data set without examples. One pass over the data.
  static Result<Dataset> Make(DatasetParts parts);

  Dataset(Dataset&&) = default;
  Dataset& operator=(Dataset&&) = default;

  const std::string& name() const { return parts_.name; }
  const Shape& shape() const { return parts_.shape; }
  size_t size() const { return parts_.labels.size(); }
  uint32_t classes() const { return parts_.classes; }
  const std::vector<std::string>& class_names() const { return parts_.class_names; }
  // The name of a class, or its number where no names are known.
  std::string ClassName(uint32_t label) const;

  std::span<const uint32_t> labels() const { return parts_.labels; }
  bool has_pixels() const { return !parts_.pixels.empty(); }
  // Example i, shape().size() values; for data of that kind only (checked).
  std::span<const uint8_t> Pixels(size_t i) const;
  std::span<const float> Features(size_t i) const;

  bool has_writers() const { return !parts_.writers.empty(); }
  std::span<const uint32_t> writers() const { return parts_.writers; }
  const std::vector<std::string>& writer_names() const { return parts_.writer_names; }

  // Examples of each class.
  const std::vector<uint64_t>& class_counts() const { return class_counts_; }
  // Of each channel: of pixels as [0, 1], of features as they are.
  const std::vector<double>& means() const { return means_; }
  // Of all values and labels in their order, to recognise the same data whatever the files. One
  // pass over the data.
  uint64_t ContentFingerprint() const;

 private:
  explicit Dataset(DatasetParts parts);

  DatasetParts parts_;
  std::vector<uint64_t> class_counts_;
  std::vector<double> means_;
};

}  // namespace metis::data
