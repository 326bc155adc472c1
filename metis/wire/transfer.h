// A model on its way, cut into chunks: ModelSender makes them, ModelReceiver puts them together
// again. Both know nothing of streams; a transfer that was cut off goes on at the offset that the
// receiver has reached, also over another connection. No partial model is ever visible: a receiver
// gives out a model only when all of it is there and its fingerprint is the announced one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "metis/core/fingerprint.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/wire/frame.h"
#include "metis/wire/settings.h"

struct ZSTD_CCtx_s;  // of zstd.h
struct ZSTD_DCtx_s;

namespace metis::wire {

namespace transfer_internal {
struct FreeZstd {
  void operator()(ZSTD_CCtx_s* context) const;
  void operator()(ZSTD_DCtx_s* context) const;
};
}  // namespace transfer_internal

// The model as the other side will have it: itself, except that kHalf rounds every value to IEEE
// binary16. Senders announce the fingerprint of this one. O(M) for kHalf.
ModelPtr AsTransferred(const ModelPtr& model, Encoding encoding, ModelPool& pool);

// One chunk. For kRaw `payload` points into the model, which the sender keeps alive; otherwise into
// the caller's `scratch`.
struct Chunk {
  FrameHeader header;
  std::span<const std::byte> payload;
};

// Makes the chunks of a model (for kHalf: of one made by AsTransferred). Movable; one thread at a
// time.
class ModelSender {
 public:
  // `offset` is checked: one that a peer named goes through ResumeAt.
  ModelSender(ModelPtr model, Encoding encoding, uint64_t offset = 0);

  const ModelPtr& model() const { return model_; }
  uint64_t offset() const { return offset_; }  // of the next chunk
  bool done() const { return offset_ == model_->bytes().size(); }
  // Continues elsewhere; an offset that is beyond the end or within a value is an error.
  Result<void> ResumeAt(uint64_t offset);
  // The next chunk; not when done().
  Chunk Next(std::vector<std::byte>& scratch);

 private:
  ModelPtr model_;
  Encoding encoding_;
  uint64_t offset_ = 0;
  std::unique_ptr<ZSTD_CCtx_s, transfer_internal::FreeZstd> compressor_;  // null until needed
};

// Puts a model together. Movable; one thread at a time.
class ModelReceiver {
 public:
  // Takes a buffer of the pool at once.
  ModelReceiver(ModelPool& pool, Encoding encoding, uint64_t fingerprint);

  uint64_t fingerprint() const { return fingerprint_; }
  uint64_t offset() const { return offset_; }  // what is there, without gaps
  bool complete() const { return offset_ == size_; }
  // Chunks come in order; one that begins elsewhere, is too long, fails its checksum or does not
  // decode to its length is refused, and what is there stays good.
  Result<void> Add(const FrameHeader& header, std::span<const std::byte> payload);
  // The same for a payload that lies in pieces, as networks deliver it. Raw values are copied once,
  // to their place, and read once: the checksum of a large chunk is looked at when the last one has
  // come and the whole is wrong. Then the error is that of the first damaged one, and offset() is
  // back where it begins; at 0 if that has happened before and again.
  Result<void> AddPieces(const FrameHeader& header,
                         std::span<const std::span<const std::byte>> pieces);
  // The whole model: an error if a part is missing or it is not the announced one. Its fingerprint
  // and magnitude are known by then, so this is O(1). Ends the receiver.
  Result<ModelPtr> Take() &&;

 private:
  Result<void> CheckPlace(const FrameHeader& header) const;
  std::span<float> PlaceOf(const FrameHeader& header);
  Result<void> Decode(std::span<const std::byte> payload, std::span<float> values);
  Result<void> Place(const FrameHeader& header, std::span<const std::span<const std::byte>> pieces);
  void Judge(std::span<const float> values);
  Result<void> FindDamage();
  void GoBack(uint64_t offset);

  ModelDraft draft_;
  Encoding encoding_;
  uint64_t fingerprint_;
  uint64_t size_;
  uint64_t offset_ = 0;
  RunningFingerprint whole_;            // of what is there
  float magnitude_ = 0;                 // likewise
  std::vector<FrameHeader> unchecked_;  // of the chunks whose checksums were not looked at
  uint32_t returns_ = 0;                // to a damaged chunk
  std::vector<std::byte> joined_;       // of pieces, where they must lie together
  std::unique_ptr<ZSTD_DCtx_s, transfer_internal::FreeZstd> decompressor_;  // null until needed
};

}  // namespace metis::wire
