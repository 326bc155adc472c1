// Members of a zip archive, stored or deflated, as far as NPZ files need it. No zip64: a member or
// an archive of 4 GiB and more is refused, and so is an encrypted one. Lengths are believed only as
// far as the archive can hold them. A pure function over bytes: any thread may call it. On zlib
// alone: with libzip half of this would remain (the bounds, and errors that name an offset).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

struct ZipMember {
  std::string name;
  uint64_t header = 0;  // offset of its local header
  uint32_t packed = 0;  // bytes in the archive
  uint32_t size = 0;    // bytes unpacked
  uint32_t crc = 0;
  uint16_t method = 0;
};

// What the archive's directory lists; `path` is for messages.
Result<std::vector<ZipMember>> ListZip(std::span<const uint8_t> archive, const std::string& path);

// One member unpacked, its checksum compared.
Result<std::vector<uint8_t>> UnpackZip(std::span<const uint8_t> archive, const ZipMember& member,
                                       const std::string& path);

}  // namespace metis::data
