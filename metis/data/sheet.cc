#include "metis/data/sheet.h"

#include <png.h>

#include <cstring>

#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr uint8_t kBackground = 128;
constexpr uint64_t kMostPixels = uint64_t{1} << 28;

// Planes into the picture, the upper left corner at (top, left).
void Paint(std::span<const uint8_t> planes, const Shape& shape, uint32_t top, uint32_t left,
           Picture& picture) {
  const size_t plane = size_t{shape.height} * shape.width;
  for (size_t y = 0; y < shape.height; ++y) {
    for (size_t x = 0; x < shape.width; ++x) {
      uint8_t* out =
          &picture.pixels[((top + y) * picture.width + left + x) * size_t{picture.channels}];
      for (size_t c = 0; c < picture.channels; ++c)
        out[c] = planes[c * plane + y * shape.width + x];
    }
  }
}

}  // namespace

Result<Picture> MakeContactSheet(const Dataset& set, uint32_t columns) {
  const Shape& shape = set.shape();
  if (!set.has_pixels()) {
    return Invalid(Text(set.name(), ": only images can be shown, this data set has features"));
  }
  if (shape.channels != 1 && shape.channels != 3 && shape.channels != 4) {
    return Invalid(Text(set.name(), ": images of ", shape.channels, " channels can't be shown"));
  }
  const uint64_t height = uint64_t{set.classes()} * (uint64_t{shape.height} + 1) + 1;
  const uint64_t width = uint64_t{columns} * (uint64_t{shape.width} + 1) + 1;
  if (height > kMostPixels / width) {
    return Invalid(
        Text(set.name(), ": a contact sheet of ", width, "x", height, " pixels is too large"));
  }
  Picture picture{shape.channels == 1 ? 1u : 3u,
                  static_cast<uint32_t>(height),
                  static_cast<uint32_t>(width),
                  {}};
  picture.pixels.assign(height * width * picture.channels, kBackground);
  std::vector<uint32_t> shown(set.classes(), 0);
  for (size_t i = 0; i < set.size(); ++i) {
    const uint32_t label = set.labels()[i];
    if (shown[label] == columns) continue;
    Paint(set.Pixels(i), shape, label * (shape.height + 1) + 1,
          shown[label]++ * (shape.width + 1) + 1, picture);
  }
  return picture;
}

Result<Picture> ReadPng(const std::string& path) {
  png_image image;
  std::memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) {
    return Invalid(Text(path, ": can't be read as PNG: ", image.message));
  }
  if (image.height > kMostPixels / image.width) {
    png_image_free(&image);
    return Invalid(Text(path, ": ", image.width, "x", image.height, " pixels are too many"));
  }
  image.format = PNG_FORMAT_RGB;
  Picture picture{3, image.height, image.width, {}};
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) == 0) {
    return Invalid(Text(path, ": the picture is damaged: ", image.message));
  }
  return picture;
}

Result<void> WritePng(const Picture& picture, const std::string& path) {
  png_image image;
  std::memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, picture.pixels.data(), 0, nullptr) != 0) {
    return {};
  }
  Error error = Unavailable(Text(path, ": can't be written: ", image.message));
  png_image_free(&image);
  return error;
}

}  // namespace metis::data
