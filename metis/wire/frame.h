// The frames of a model transfer (docs/wire.md): a fixed header of 32 bytes, little-endian, and a
// payload that is copied by nobody on its way out. Transport-free: frames are made and taken apart
// here, and carried by rpc/.
//
//   bytes  0- 3  magic "MTF1"
//   bytes  4- 7  kind
//   bytes  8-15  offset: where the payload belongs, in bytes of the float32 values
//   bytes 16-19  length of the payload as it travels
//   bytes 20-23  length of the payload once decoded (chunks; else 0)
//   bytes 24-31  XXH3 of the payload as it travels
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "metis/core/result.h"

namespace metis::wire {

enum class FrameKind : uint32_t {
  kOpen = 1,    // payload: OpenUpload or OpenDownload
  kResume = 2,  // to the sender of a model: begin at `offset`
  kChunk = 3,   // a part of the model
  kEnd = 4,     // payload: TransferEnd
};

inline constexpr size_t kFrameHeaderBytes = 32;
// Decoded bytes of a chunk: large enough that its overhead vanishes, small enough that a heartbeat
// passes between two. A receiver takes any size up to kMaxChunkBytes.
inline constexpr size_t kChunkBytes = size_t{1} << 20;
inline constexpr size_t kMaxChunkBytes = size_t{4} << 20;
// Of the payloads that are protobuf: counts of 1,000 classes fit.
inline constexpr size_t kMaxOpenBytes = size_t{16} << 20;

struct FrameHeader {
  FrameKind kind = FrameKind::kOpen;
  uint64_t offset = 0;
  uint32_t length = 0;
  uint32_t decoded_length = 0;
  uint64_t checksum = 0;
};

std::array<std::byte, kFrameHeaderBytes> EncodeHeader(const FrameHeader& header);
// Refuses another magic, an unknown kind, a length above the kind's bound.
Result<FrameHeader> DecodeHeader(std::span<const std::byte> bytes);

// The header of a frame with this payload.
FrameHeader HeaderFor(FrameKind kind, std::span<const std::byte> payload, uint64_t offset = 0,
                      uint32_t decoded_length = 0);
// Whether the payload is the one that the header describes; the error names both checksums.
Result<void> CheckPayload(const FrameHeader& header, std::span<const std::byte> payload);
// The same for a payload of the right length whose checksum is known.
Result<void> CheckSum(const FrameHeader& header, uint64_t checksum);

}  // namespace metis::wire
