#include "metis/wire/frame.h"

#include <algorithm>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::wire {

namespace {

constexpr uint32_t kMagic = 0x3146544d;  // "MTF1"

template <typename T>
void Put(std::byte* to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

template <typename T>
T Get(const std::byte* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(from[i]) << (8 * i);
  return value;
}

// A field that the kind leaves unused is zero: a damaged kind does not pass for another one.
Result<void> CheckUnused(std::string_view field, uint64_t value, std::string_view kind) {
  if (value == 0) return {};
  return Invalid(Text("a frame of kind ", kind, " has ", field, " ", value, ", and must have 0"));
}

Result<void> CheckLength(uint64_t length, uint64_t most, std::string_view kind) {
  if (length <= most) return {};
  return Invalid(Text("a frame of kind ", kind, " announces ", length, " bytes, at most ", most,
                      " are taken"));
}

Result<void> CheckChunk(const FrameHeader& header) {
  if (header.decoded_length == 0 || header.decoded_length > kMaxChunkBytes ||
      header.decoded_length % sizeof(float) != 0 || header.offset % sizeof(float) != 0) {
    return Invalid(Text("a chunk at offset ", header.offset, " decodes to ", header.decoded_length,
                        " bytes: whole values of 4 bytes are taken, 1 to ",
                        kMaxChunkBytes / sizeof(float), " of them"));
  }
  return CheckLength(header.length, kMaxChunkBytes, "chunk");
}

// Open and end: a protobuf message, and nothing else.
Result<void> CheckMessage(const FrameHeader& header, std::string_view kind) {
  if (Result<void> offset = CheckUnused("offset", header.offset, kind); !offset) return offset;
  if (Result<void> decoded = CheckUnused("decoded length", header.decoded_length, kind); !decoded) {
    return decoded;
  }
  return CheckLength(header.length, kMaxOpenBytes, kind);
}

Result<void> CheckHeader(const FrameHeader& header) {
  switch (header.kind) {
    case FrameKind::kOpen:
      return CheckMessage(header, "open");
    case FrameKind::kResume:
      if (Result<void> empty = CheckLength(header.length, 0, "resume"); !empty) return empty;
      return CheckUnused("decoded length", header.decoded_length, "resume");
    case FrameKind::kChunk:
      return CheckChunk(header);
    case FrameKind::kEnd:
      return CheckMessage(header, "end");
  }
  return Invalid(Text("a frame of kind ", static_cast<uint32_t>(header.kind),
                      " is unknown, 1 to 4 are taken: does the peer speak a newer wire?"));
}

}  // namespace

std::array<std::byte, kFrameHeaderBytes> EncodeHeader(const FrameHeader& header) {
  std::array<std::byte, kFrameHeaderBytes> bytes;
  Put(&bytes[0], kMagic);
  Put(&bytes[4], static_cast<uint32_t>(header.kind));
  Put(&bytes[8], header.offset);
  Put(&bytes[16], header.length);
  Put(&bytes[20], header.decoded_length);
  Put(&bytes[24], header.checksum);
  return bytes;
}

Result<FrameHeader> DecodeHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) {
    return Invalid(Text("a frame of ", bytes.size(), " bytes is shorter than its header of ",
                        kFrameHeaderBytes));
  }
  if (const uint32_t magic = Get<uint32_t>(&bytes[0]); magic != kMagic) {
    return Invalid(Text("a frame begins with ", Hex(magic).substr(8), ", not with ",
                        Hex(kMagic).substr(8), " (\"MTF1\"): is the peer a Metis?"));
  }
  const FrameHeader header = {.kind = static_cast<FrameKind>(Get<uint32_t>(&bytes[4])),
                              .offset = Get<uint64_t>(&bytes[8]),
                              .length = Get<uint32_t>(&bytes[16]),
                              .decoded_length = Get<uint32_t>(&bytes[20]),
                              .checksum = Get<uint64_t>(&bytes[24])};
  if (Result<void> checked = CheckHeader(header); !checked) return checked.error();
  return header;
}

FrameHeader HeaderFor(FrameKind kind, std::span<const std::byte> payload, uint64_t offset,
                      uint32_t decoded_length) {
  METIS_CHECK(payload.size() <= std::max(kMaxOpenBytes, kMaxChunkBytes));
  return {.kind = kind,
          .offset = offset,
          .length = static_cast<uint32_t>(payload.size()),
          .decoded_length = decoded_length,
          .checksum = Fingerprint(payload)};
}

Result<void> CheckPayload(const FrameHeader& header, std::span<const std::byte> payload) {
  if (payload.size() != header.length) {
    return Invalid(Text("a frame announces ", header.length, " bytes and holds ", payload.size()));
  }
  return CheckSum(header, Fingerprint(payload));
}

Result<void> CheckSum(const FrameHeader& header, uint64_t checksum) {
  if (checksum != header.checksum) {
    return Invalid(Text("a frame of ", header.length, " bytes at offset ", header.offset,
                        " has checksum ", Hex(checksum), ", its header says ", Hex(header.checksum),
                        ": it was damaged on its way"));
  }
  return {};
}

}  // namespace metis::wire
