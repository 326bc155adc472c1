#include "metis/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::data {
namespace {

Result<void> CheckCounts(const DatasetParts& parts) {
  const Shape& shape = parts.shape;
  if (parts.labels.empty()) return Invalid("there are no examples");
  if (parts.labels.size() > kMostExamples) {
    return Invalid(
        Text(parts.labels.size(), " examples, at most ", kMostExamples, " are possible"));
  }
  uint64_t plane = uint64_t{shape.height} * shape.width;
  if (plane == 0 || shape.channels == 0 || plane > kMostValuesPerExample ||
      shape.channels > kMostValuesPerExample / plane) {
    return Invalid(Text("examples of ", FormatShape(shape), " values, 1 to ", kMostValuesPerExample,
                        " are possible"));
  }
  if (parts.pixels.empty() == parts.features.empty()) {
    return Invalid("a data set has either pixels or features");
  }
  size_t values = std::max(parts.pixels.size(), parts.features.size());
  if (values / shape.size() != parts.labels.size() || values % shape.size() != 0) {
    return Invalid(Text(values, " values are not ", parts.labels.size(), " examples of ",
                        FormatShape(shape), ": do examples and labels belong together?"));
  }
  if (!parts.writers.empty() && parts.writers.size() != parts.labels.size()) {
    return Invalid(Text(parts.writers.size(), " writers for ", parts.labels.size(), " examples"));
  }
  return {};
}

Result<void> CheckValues(const DatasetParts& parts) {
  if (parts.classes > kMostClasses) {
    return Invalid(Text(parts.classes, " classes, at most ", kMostClasses, " are possible"));
  }
  if (!parts.class_names.empty() && parts.class_names.size() != parts.classes) {
    return Invalid(Text(parts.class_names.size(), " class names for ", parts.classes, " classes"));
  }
  for (size_t i = 0; i < parts.labels.size(); ++i) {
    if (parts.labels[i] >= parts.classes) {
      return Invalid(Text("example ", i, " has label ", parts.labels[i], ", the classes are 0 to ",
                          parts.classes - 1));
    }
  }
  for (size_t i = 0; i < parts.writers.size(); ++i) {
    if (parts.writers[i] >= parts.writer_names.size()) {
      return Invalid(
          Text("example ", i, " has writer ", parts.writers[i], " of ", parts.writer_names.size()));
    }
  }
  for (size_t i = 0; i < parts.features.size(); ++i) {
    if (!std::isfinite(parts.features[i])) {
      return Invalid(Text("example ", i / parts.shape.size(), ", feature ", i % parts.shape.size(),
                          " is ", parts.features[i], ": only finite numbers can be learnt from"));
    }
  }
  return {};
}

// Sums of 8-bit values are exact; features are summed in double, in the order of the examples.
template <typename Sum, typename Value>
std::vector<double> Means(std::span<const Value> values, const Shape& shape, double scale) {
  const size_t plane = size_t{shape.height} * shape.width;
  std::vector<Sum> sums(shape.channels, Sum{0});
  for (size_t at = 0; at < values.size();) {
    for (Sum& sum : sums) {
      for (size_t end = at + plane; at < end; ++at) sum += values[at];
    }
  }
  const size_t pixels = values.size() / shape.channels;
  const auto count = static_cast<double>(pixels);
  std::vector<double> means;
  for (Sum sum : sums) means.push_back(static_cast<double>(sum) / count / scale);
  return means;
}

}  // namespace

std::string FormatShape(const Shape& shape) {
  return Text(shape.channels, "x", shape.height, "x", shape.width);
}

Result<Dataset> Dataset::Make(DatasetParts parts) {
  if (Result<void> fits = CheckCounts(parts); !fits) return fits.error().In(parts.name);
  if (parts.classes == 0) {
    uint32_t largest = *std::max_element(parts.labels.begin(), parts.labels.end());
    if (largest >= kMostClasses) {
      return Invalid(Text("label ", largest, ", at most ", kMostClasses, " classes are possible"))
          .In(parts.name);
    }
    parts.classes = largest + 1;
  }
  if (Result<void> sound = CheckValues(parts); !sound) return sound.error().In(parts.name);
  return Dataset(std::move(parts));
}

Dataset::Dataset(DatasetParts parts) : parts_(std::move(parts)), class_counts_(parts_.classes) {
  for (uint32_t label : parts_.labels) ++class_counts_[label];
  means_ = has_pixels()
               ? Means<uint64_t>(std::span<const uint8_t>(parts_.pixels), parts_.shape, 255.0)
               : Means<double>(std::span<const float>(parts_.features), parts_.shape, 1.0);
}

std::string Dataset::ClassName(uint32_t label) const {
  METIS_CHECK(label < classes());
  return parts_.class_names.empty() ? Text(label) : parts_.class_names[label];
}

uint64_t Dataset::ContentFingerprint() const {
  const uint64_t parts[] = {Fingerprint(std::as_bytes(std::span(parts_.pixels))),
                            Fingerprint(std::as_bytes(std::span(parts_.features))),
                            Fingerprint(std::as_bytes(std::span(parts_.labels)))};
  return Fingerprint(std::as_bytes(std::span(parts)));
}

std::span<const uint8_t> Dataset::Pixels(size_t i) const {
  METIS_CHECK(has_pixels() && i < size());
  return std::span(parts_.pixels).subspan(i * parts_.shape.size(), parts_.shape.size());
}

std::span<const float> Dataset::Features(size_t i) const {
  METIS_CHECK(!has_pixels() && i < size());
  return std::span(parts_.features).subspan(i * parts_.shape.size(), parts_.shape.size());
}

}  // namespace metis::data
