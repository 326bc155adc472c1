// A contact sheet: a picture of a few examples of every class, one row a class, to see with one's
// own eyes that a data set was read as it was meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"

namespace metis::data {

struct Picture {
  uint32_t channels = 1;  // 1: grey, 3: red, green, blue together
  uint32_t height = 0;
  uint32_t width = 0;
  std::vector<uint8_t> pixels;
};

// The first `columns` examples of each class, in the order of the data set, with a gap of one pixel
// between them; grey where a class has fewer. For pixels of one, three or four channels (the fourth
// is left out), and a sheet of at most 2^28 pixels.
Result<Picture> MakeContactSheet(const Dataset& set, uint32_t columns);

// A PNG file as a picture of three channels; at most 2^28 pixels.
Result<Picture> ReadPng(const std::string& path);

// Replaces the file, if there is one.
Result<void> WritePng(const Picture& picture, const std::string& path);

}  // namespace metis::data
