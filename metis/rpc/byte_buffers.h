// Frames (wire/frame.h) in gRPC's byte buffers. A chunk on its way out is two slices, the second
// over the model's own memory; one that came in is looked at where gRPC put it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/wire/frame.h"
#include "metis/wire/transfer.h"

namespace metis::rpc {

// A frame that was received. Pieces point into the slices.
struct ReceivedFrame {
  wire::FrameHeader header;
  std::vector<grpc::Slice> slices;
  std::vector<std::span<const std::byte>> pieces;  // the payload

  // All of the payload in one piece: a copy.
  std::string Payload() const;
};

// Refuses a buffer that is no frame, or of another length than its header says.
Result<ReceivedFrame> OpenFrame(const grpc::ByteBuffer& buffer);

// A frame whose payload is protobuf, or that has none.
grpc::ByteBuffer MakeFrame(wire::FrameKind kind, const std::string& payload, uint64_t offset = 0);

// The next chunk of the sender's model, which lives until gRPC has sent it.
grpc::ByteBuffer MakeChunk(wire::ModelSender& sender);

}  // namespace metis::rpc
