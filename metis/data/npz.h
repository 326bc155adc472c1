// Data sets as NumPy saves them: an NPZ archive (numpy.savez or savez_compressed) with arrays `x`
// of examples and `y` of labels (docs/datasets.md). Little-endian, C order; uint8 x are pixels, all
// other types features.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"

namespace metis::data {

struct NpzOptions {
  std::string name = {};  // default: the path
  uint32_t classes = 0;   // 0: one more than the largest label
};

// The archive and one unpacked array are in memory at a time, beside the result.
Result<Dataset> ReadNpz(const std::string& path, const NpzOptions& options = {});

enum class NpyType { kUint8, kInt32, kInt64, kFloat32, kFloat64 };

// The header of one array (.npy, versions 1 and 2).
struct NpyHeader {
  NpyType type = NpyType::kUint8;
  std::vector<uint64_t> shape;
  size_t begin = 0;  // of the values
};

// Checks that exactly the values follow. Messages say what, and at which offset of the member.
Result<NpyHeader> ParseNpyHeader(std::span<const uint8_t> member);

}  // namespace metis::data
