#include "metis/wire/transfer.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "metis/core/kernels.h"
#include "metis/core/text.h"
#include "metis/wire/half.h"

namespace metis::wire {

namespace transfer_internal {

void FreeZstd::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void FreeZstd::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

}  // namespace transfer_internal

namespace {

static_assert(std::endian::native == std::endian::little,
              "models travel as they lie in memory, and that is little-endian on the wire");

// Raw chunks from this size on are checked with the whole model: so few of them are remembered.
constexpr size_t kCheckedLate = size_t{64} << 10;
// Finding the damage costs passes over the whole model: who is damaged more often begins anew, so
// that a sender who pretends to be pays with as many bytes as he makes others read.
constexpr uint32_t kMostReturns = 2;

// Values of a model hardly compress; higher levels take many times longer for nothing.
constexpr int kZstdLevel = 1;

// Makes room without clearing it again for every chunk.
std::span<std::byte> Room(std::vector<std::byte>& scratch, size_t size) {
  if (scratch.size() < size) scratch.resize(size);
  return std::span(scratch).first(size);
}

std::span<const std::byte> Compress(ZSTD_CCtx* context, std::span<const std::byte> bytes,
                                    std::vector<std::byte>& scratch) {
  const std::span<std::byte> room = Room(scratch, ZSTD_compressBound(bytes.size()));
  const size_t size =
      ZSTD_compressCCtx(context, room.data(), room.size(), bytes.data(), bytes.size(), kZstdLevel);
  METIS_CHECK_MSG(!ZSTD_isError(size), ZSTD_getErrorName(size));  // out of memory, or our mistake
  return room.first(size);
}

// Never writes beyond `to`, whatever size the zstd frame tells.
Result<void> Decompress(ZSTD_DCtx* context, std::span<const std::byte> payload,
                        std::span<std::byte> to) {
  const size_t size =
      ZSTD_decompressDCtx(context, to.data(), to.size(), payload.data(), payload.size());
  if (ZSTD_isError(size)) {
    return Invalid(Text("zstd cannot decode ", payload.size(), " bytes to ", to.size(), ": ",
                        ZSTD_getErrorName(size)));
  }
  if (size != to.size()) {
    return Invalid(
        Text("zstd decodes ", payload.size(), " bytes to ", size, ", the header says ", to.size()));
  }
  return {};
}

Result<void> CheckDecodedLength(uint64_t length, uint64_t wanted, std::string_view encoding) {
  if (length == wanted) return {};
  return Invalid(Text("a chunk of encoding ", encoding, " has ", length, " bytes, and needs ",
                      wanted, " for what it decodes to"));
}

}  // namespace

ModelPtr AsTransferred(const ModelPtr& model, Encoding encoding, ModelPool& pool) {
  if (encoding != Encoding::kHalf) return model;
  METIS_CHECK(pool.schema()->hash() == model->schema()->hash());
  constexpr size_t kBlock = 4096;  // values: the halves stay in the first cache
  std::byte halves[kBlock * kHalfBytes];
  ModelDraft draft = pool.Draft();
  for (size_t at = 0; at < model->size(); at += kBlock) {
    const size_t count = std::min(kBlock, model->size() - at);
    const std::span<std::byte> part(halves, count * kHalfBytes);
    EncodeHalves(model->parameters().subspan(at, count), part);
    DecodeHalves(part, draft.parameters().subspan(at, count));
  }
  return std::move(draft).Seal();
}

ModelSender::ModelSender(ModelPtr model, Encoding encoding, uint64_t offset)
    : model_(std::move(model)), encoding_(encoding) {
  METIS_CHECK(model_ != nullptr);
  const Result<void> resumed = ResumeAt(offset);
  METIS_CHECK_MSG(resumed.ok(), resumed.error().message);
}

Result<void> ModelSender::ResumeAt(uint64_t offset) {
  const uint64_t size = model_->bytes().size();
  if (offset > size || offset % sizeof(float) != 0) {
    return Invalid(Text("a transfer cannot go on at offset ", offset, ": a multiple of ",
                        sizeof(float), " up to the model's ", size, " bytes is needed"));
  }
  offset_ = offset;
  return {};
}

Chunk ModelSender::Next(std::vector<std::byte>& scratch) {
  METIS_CHECK(!done());
  const uint64_t at = offset_;
  const size_t size = std::min<size_t>(kChunkBytes, model_->bytes().size() - at);
  std::span<const std::byte> payload = model_->bytes().subspan(at, size);
  if (encoding_ == Encoding::kZstd) {
    if (!compressor_) compressor_.reset(ZSTD_createCCtx());
    METIS_CHECK(compressor_ != nullptr);
    payload = Compress(compressor_.get(), payload, scratch);
  } else if (encoding_ == Encoding::kHalf) {
    const size_t values = size / sizeof(float);
    const std::span<std::byte> halves = Room(scratch, values * kHalfBytes);
    EncodeHalves(model_->parameters().subspan(at / sizeof(float), values), halves);
    payload = halves;
  }
  offset_ += size;
  const auto decoded = static_cast<uint32_t>(size);
  if (encoding_ == Encoding::kRaw && at % kChunkBytes == 0) {
    static_assert(kChunkBytes == Model::kBlockBytes);
    const FrameHeader header = {.kind = FrameKind::kChunk,
                                .offset = at,
                                .length = decoded,
                                .decoded_length = decoded,
                                .checksum = model_->BlockFingerprints()[at / kChunkBytes]};
    return {header, payload};
  }
  return {HeaderFor(FrameKind::kChunk, payload, at, decoded), payload};
}

ModelReceiver::ModelReceiver(ModelPool& pool, Encoding encoding, uint64_t fingerprint)
    : draft_(pool.Draft()),
      encoding_(encoding),
      fingerprint_(fingerprint),
      size_(pool.schema()->bytes()) {}

Result<void> ModelReceiver::CheckPlace(const FrameHeader& header) const {
  if (header.kind != FrameKind::kChunk) {
    return Invalid(Text("a frame of kind ", static_cast<uint32_t>(header.kind),
                        " came where a chunk was expected"));
  }
  if (header.offset != offset_) {
    return Invalid(
        Text("a chunk begins at offset ", header.offset, ", the next one must begin at ", offset_));
  }
  const uint64_t size = header.decoded_length;
  if (size == 0 || size > std::min<uint64_t>(kMaxChunkBytes, size_ - offset_) ||
      size % sizeof(float) != 0) {
    return Invalid(Text("a chunk at offset ", offset_, " of a model of ", size_,
                        " bytes decodes to ", size,
                        " bytes: whole values are taken, up to the end of the model and to ",
                        kMaxChunkBytes, " bytes"));
  }
  return {};
}

std::span<float> ModelReceiver::PlaceOf(const FrameHeader& header) {
  return draft_.parameters().subspan(offset_ / sizeof(float),
                                     header.decoded_length / sizeof(float));
}

Result<void> ModelReceiver::Add(const FrameHeader& header, std::span<const std::byte> payload) {
  if (Result<void> checked = CheckPlace(header); !checked) return checked;
  if (Result<void> checked = CheckPayload(header, payload); !checked) return checked;
  if (Result<void> decoded = Decode(payload, PlaceOf(header)); !decoded) {
    return decoded.error().In(Text("chunk at offset ", offset_));
  }
  const std::span<const float> values = PlaceOf(header);
  whole_.Add(std::as_bytes(values));
  Judge(values);
  offset_ += header.decoded_length;
  return complete() && whole_.value() != fingerprint_ ? FindDamage() : Result<void>();
}

Result<void> ModelReceiver::AddPieces(const FrameHeader& header,
                                      std::span<const std::span<const std::byte>> pieces) {
  if (Result<void> checked = CheckPlace(header); !checked) return checked;
  size_t length = 0;
  for (const std::span<const std::byte> piece : pieces) length += piece.size();
  if (length != header.length || length > kMaxChunkBytes) {
    return Invalid(Text("a chunk announces ", header.length, " bytes and holds ", length,
                        ", at most ", kMaxChunkBytes, " are taken"));
  }
  const bool in_place = encoding_ == Encoding::kRaw && length == header.decoded_length;
  if (in_place && length >= kCheckedLate) return Place(header, pieces);
  joined_.resize(length);
  auto end = joined_.begin();
  for (const std::span<const std::byte> piece : pieces) end = std::ranges::copy(piece, end).out;
  return Add(header, joined_);
}

// Everything that must be known of the values is found out while they are in the cache.
Result<void> ModelReceiver::Place(const FrameHeader& header,
                                  std::span<const std::span<const std::byte>> pieces) {
  constexpr size_t kHot = size_t{16} << 10;
  const std::span<float> values = PlaceOf(header);
  const std::span<std::byte> to = std::as_writable_bytes(values);
  size_t at = 0;
  size_t judged = 0;  // values
  for (const std::span<const std::byte> piece : pieces) {
    for (size_t of = 0; of < piece.size(); of += kHot) {
      const std::span<const std::byte> from = piece.subspan(of, std::min(kHot, piece.size() - of));
      const std::span<std::byte> place = to.subspan(at, from.size());
      std::memcpy(place.data(), from.data(), from.size());
      whole_.Add(place);
      at += from.size();
      const size_t there = at / sizeof(float);  // a piece may end within a value
      Judge(values.subspan(judged, there - judged));
      judged = there;
    }
  }
  unchecked_.push_back(header);
  offset_ += header.decoded_length;
  return complete() && whole_.value() != fingerprint_ ? FindDamage() : Result<void>();
}

void ModelReceiver::Judge(std::span<const float> values) {
  magnitude_ = std::max(magnitude_, BestKernels().magnitude(values.data(), values.size()));
}

// A model that is not the announced one was damaged on its way if one of its chunks was; else its
// sender announced another.
Result<void> ModelReceiver::FindDamage() {
  const std::span<const std::byte> all = std::as_bytes(std::span<const float>(draft_.parameters()));
  for (const FrameHeader& header : unchecked_) {
    Result<void> checked = CheckSum(header, Fingerprint(all.subspan(header.offset, header.length)));
    if (checked.ok()) continue;
    GoBack(++returns_ > kMostReturns ? 0 : header.offset);
    return checked;
  }
  return {};
}

void ModelReceiver::GoBack(uint64_t offset) {
  const std::span<const float> good = draft_.parameters().first(offset / sizeof(float));
  offset_ = offset;
  whole_.Reset();
  whole_.Add(std::as_bytes(good));
  magnitude_ = 0;
  Judge(good);
  unchecked_.clear();  // those before it were found good
}

Result<void> ModelReceiver::Decode(std::span<const std::byte> payload, std::span<float> values) {
  const std::span<std::byte> to = std::as_writable_bytes(values);
  switch (encoding_) {
    case Encoding::kRaw:
      if (Result<void> fits = CheckDecodedLength(payload.size(), to.size(), "raw"); !fits)
        return fits;
      std::memcpy(to.data(), payload.data(), to.size());
      return {};
    case Encoding::kZstd:
      if (!decompressor_) decompressor_.reset(ZSTD_createDCtx());
      METIS_CHECK(decompressor_ != nullptr);
      return Decompress(decompressor_.get(), payload, to);
    case Encoding::kHalf:
      if (Result<void> fits =
              CheckDecodedLength(payload.size(), values.size() * kHalfBytes, "half");
          !fits) {
        return fits;
      }
      DecodeHalves(payload, values);
      return {};
  }
  return Invalid(Text("encoding ", static_cast<int>(encoding_), " is unknown"));
}

Result<ModelPtr> ModelReceiver::Take() && {
  if (!complete()) {
    return Invalid(Text("the model is not whole: ", offset_, " of ", size_, " bytes are there"));
  }
  if (const uint64_t arrived = whole_.value(); arrived != fingerprint_) {
    return Invalid(Text("the model that arrived has fingerprint ", Hex(arrived), ", announced was ",
                        Hex(fingerprint_)));
  }
  return std::move(draft_).Seal({.fingerprint = fingerprint_, .magnitude = magnitude_});
}

}  // namespace metis::wire
