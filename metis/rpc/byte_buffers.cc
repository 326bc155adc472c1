#include "metis/rpc/byte_buffers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "metis/core/text.h"

namespace metis::rpc {
namespace {

// What a chunk on its way out keeps alive.
struct Kept {
  ModelPtr model;
  std::vector<std::byte> scratch;
};

void Release(void* kept) { delete static_cast<Kept*>(kept); }

grpc::Slice HeaderSlice(const wire::FrameHeader& header) {
  const auto bytes = wire::EncodeHeader(header);
  return grpc::Slice(bytes.data(), bytes.size());
}

}  // namespace

std::string ReceivedFrame::Payload() const {
  std::string payload;
  payload.reserve(header.length);
  for (const std::span<const std::byte> piece : pieces) {
    payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return payload;
}

Result<ReceivedFrame> OpenFrame(const grpc::ByteBuffer& buffer) {
  ReceivedFrame frame;
  if (grpc::Status dumped = buffer.Dump(&frame.slices); !dumped.ok()) {
    return Invalid(Text("a frame cannot be read: ", dumped.error_message()));
  }
  std::array<std::byte, wire::kFrameHeaderBytes> header;
  size_t have = 0;
  for (const grpc::Slice& slice : frame.slices) {
    std::span<const std::byte> piece(reinterpret_cast<const std::byte*>(slice.begin()),
                                     slice.size());
    const size_t part = std::min(piece.size(), header.size() - have);
    std::memcpy(header.data() + have, piece.data(), part);
    have += part;
    if (part < piece.size()) frame.pieces.push_back(piece.subspan(part));
  }
  Result<wire::FrameHeader> decoded = wire::DecodeHeader(std::span(header).first(have));
  if (!decoded) return decoded.error();
  frame.header = *decoded;
  const size_t length = buffer.Length() - have;
  if (length != frame.header.length) {
    return Invalid(
        Text("a frame has a payload of ", length, " bytes, its header says ", frame.header.length));
  }
  return frame;
}

grpc::ByteBuffer MakeFrame(wire::FrameKind kind, const std::string& payload, uint64_t offset) {
  const wire::FrameHeader header = wire::HeaderFor(kind, std::as_bytes(std::span(payload)), offset);
  const grpc::Slice slices[] = {HeaderSlice(header), grpc::Slice(payload)};
  return grpc::ByteBuffer(slices, payload.empty() ? 1 : 2);
}

grpc::ByteBuffer MakeChunk(wire::ModelSender& sender) {
  auto kept = std::make_unique<Kept>();
  kept->model = sender.model();
  const wire::Chunk chunk = sender.Next(kept->scratch);
  void* bytes = const_cast<std::byte*>(chunk.payload.data());  // gRPC only reads
  const grpc::Slice slices[] = {
      HeaderSlice(chunk.header),
      grpc::Slice(bytes, chunk.payload.size(), Release, kept.release()),
  };
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace metis::rpc
