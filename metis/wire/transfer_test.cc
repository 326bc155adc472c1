#include "metis/wire/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/wire/half.h"
#include "metis/wire/testing.h"

namespace metis::wire {
namespace {

using testing::HasSubstr;

constexpr uint64_t kParameters = 600'001;  // three chunks, the last one shorter
constexpr uint64_t kSize = kParameters * sizeof(float);

// A chunk of any size, as another sender might cut it.
struct OwnChunk {
  FrameHeader header;
  std::vector<std::byte> payload;
};

OwnChunk ChunkOf(const Model& model, Encoding encoding, uint64_t offset, size_t size) {
  const std::span<const std::byte> bytes = model.bytes().subspan(offset, size);
  OwnChunk chunk;
  if (encoding == Encoding::kRaw) {
    chunk.payload.assign(bytes.begin(), bytes.end());
  } else if (encoding == Encoding::kZstd) {
    chunk.payload.resize(ZSTD_compressBound(size));
    chunk.payload.resize(
        ZSTD_compress(chunk.payload.data(), chunk.payload.size(), bytes.data(), size, 3));
  } else {
    chunk.payload.resize(size / 2);
    EncodeHalves(model.parameters().subspan(offset / sizeof(float), size / sizeof(float)),
                 chunk.payload);
  }
  chunk.header = HeaderFor(FrameKind::kChunk, chunk.payload, offset, static_cast<uint32_t>(size));
  return chunk;
}

void SendRest(ModelSender& sender, ModelReceiver& receiver) {
  std::vector<std::byte> scratch;
  while (!sender.done()) {
    const Chunk chunk = sender.Next(scratch);
    const Result<void> added = receiver.Add(chunk.header, chunk.payload);
    ASSERT_TRUE(added) << added.error().message;
  }
}

void ExpectWhole(ModelReceiver receiver, const ModelPtr& model) {
  ASSERT_TRUE(receiver.complete());
  const Result<ModelPtr> taken = std::move(receiver).Take();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(std::ranges::equal((*taken)->bytes(), model->bytes()));
  EXPECT_EQ((*taken)->Fingerprint(), Fingerprint((*taken)->bytes()));
  EXPECT_EQ((*taken)->Magnitude(), model->Magnitude());
}

// Each law holds for every encoding.
class Transfer : public testing::TestWithParam<Encoding> {
 protected:
  ModelReceiver Receiver() { return {pool_, GetParam(), model_->Fingerprint()}; }

  ModelPool pool_ = PoolOf(kParameters);
  ModelPtr model_ = AsTransferred(RandomModel(pool_, 1), GetParam(), pool_);
};

INSTANTIATE_TEST_SUITE_P(Encodings, Transfer, testing::ValuesIn(kEncodings),
                         [](const auto& tested) { return std::string(NameOf(tested.param)); });

TEST_P(Transfer, OfAWholeModelGivesTheSameModel) {
  ModelReceiver receiver = Receiver();
  ModelSender sender(model_, GetParam());
  SendRest(sender, receiver);
  ExpectWhole(std::move(receiver), model_);
}

TEST_P(Transfer, CutAtAnyOffsetGoesOnThereWithANewSender) {
  for (uint64_t cut :
       {uint64_t{0}, uint64_t{4}, uint64_t{4000}, uint64_t{kChunkBytes - 4}, uint64_t{kChunkBytes},
        uint64_t{kChunkBytes + 4}, uint64_t{2 * kChunkBytes}, kSize - 4, kSize}) {
    SCOPED_TRACE(cut);
    ModelReceiver receiver = Receiver();
    while (receiver.offset() < cut) {
      const OwnChunk chunk = ChunkOf(*model_, GetParam(), receiver.offset(),
                                     std::min(kChunkBytes, cut - receiver.offset()));
      ASSERT_TRUE(receiver.Add(chunk.header, chunk.payload));
    }
    ModelSender sender(model_, GetParam());
    ASSERT_TRUE(sender.ResumeAt(receiver.offset()));
    SendRest(sender, receiver);
    ExpectWhole(std::move(receiver), model_);
  }
}

TEST_P(Transfer, CutWithinAChunkLosesThatChunkOnly) {
  ModelReceiver receiver = Receiver();
  Random random({.seed = 5});
  std::vector<std::byte> scratch;
  uint64_t chunks = 0;
  for (; !receiver.complete(); ++chunks) {
    const uint64_t before = receiver.offset();
    ModelSender cut(model_, GetParam(), before);
    const Chunk whole = cut.Next(scratch);
    for (size_t length : {size_t{0}, size_t{1}, whole.payload.size() - 1,
                          size_t{random.Below(whole.payload.size())}}) {
      EXPECT_FALSE(receiver.Add(whole.header, whole.payload.first(length)));
      EXPECT_EQ(receiver.offset(), before);
    }
    ModelSender again(model_, GetParam(), receiver.offset());
    const Chunk chunk = again.Next(scratch);
    ASSERT_TRUE(receiver.Add(chunk.header, chunk.payload));
  }
  EXPECT_EQ(chunks, 3u);
  ExpectWhole(std::move(receiver), model_);
}

TEST_P(Transfer, TakesChunksOfAnySizeUpToTheLargest) {
  ModelPool pool = PoolOf(2'500'003);
  const ModelPtr model = AsTransferred(RandomModel(pool, 2), GetParam(), pool);
  ModelReceiver receiver(pool, GetParam(), model->Fingerprint());
  Random random({.seed = 6});
  // Incompressible values as zstd are a little longer than they were.
  const size_t most = GetParam() == Encoding::kZstd ? kMaxChunkBytes / 2 : kMaxChunkBytes;
  for (bool first = true; !receiver.complete(); first = false) {
    const size_t rest = model->bytes().size() - receiver.offset();
    const size_t size = first ? most : 4 * (1 + random.Below(most / 4));
    const OwnChunk chunk = ChunkOf(*model, GetParam(), receiver.offset(), std::min(size, rest));
    ASSERT_TRUE(DecodeHeader(EncodeHeader(chunk.header)));
    ASSERT_TRUE(receiver.Add(chunk.header, chunk.payload));
  }
  ExpectWhole(std::move(receiver), model);
}

TEST_P(Transfer, InPiecesIsTheSameAsWhole) {
  ModelReceiver receiver = Receiver();
  ModelSender sender(model_, GetParam());
  Random random({.seed = 9});
  std::vector<std::byte> scratch;
  while (!sender.done()) {
    const Chunk chunk = sender.Next(scratch);
    const uint64_t before = receiver.offset();
    std::vector<std::span<const std::byte>> pieces;
    for (auto rest = chunk.payload; !rest.empty(); rest = rest.subspan(pieces.back().size())) {
      pieces.push_back(rest.first(std::min<size_t>(rest.size(), random.Below(100'000))));
    }
    const auto last = std::exchange(pieces.back(), {});
    EXPECT_FALSE(receiver.AddPieces(chunk.header, pieces));  // cut off
    pieces.back() = last;
    EXPECT_EQ(receiver.offset(), before);
    const Result<void> added = receiver.AddPieces(chunk.header, pieces);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_FALSE(receiver.AddPieces(chunk.header, pieces));  // the same again
  }
  ExpectWhole(std::move(receiver), model_);
}

// The rest, each chunk in two pieces that part within a value. In those that begin at an offset of
// `damaged` a bit is flipped; of raw values it makes one huge.
Result<void> SendDamaged(const ModelPtr& model, Encoding encoding, ModelReceiver& receiver,
                         const std::set<uint64_t>& damaged) {
  ModelSender sender(model, encoding, receiver.offset());
  std::vector<std::byte> scratch;
  while (!sender.done()) {
    const Chunk chunk = sender.Next(scratch);
    std::vector<std::byte> arrives(chunk.payload.begin(), chunk.payload.end());
    if (damaged.contains(chunk.header.offset)) arrives[4003] ^= std::byte{0x40};
    const std::span<const std::byte> all = arrives;
    const std::span<const std::byte> pieces[] = {all.first(70'001), all.subspan(70'001)};
    if (Result<void> added = receiver.AddPieces(chunk.header, pieces); !added) return added;
  }
  return {};
}

TEST_P(Transfer, GoesBackToTheFirstDamagedChunk) {
  for (const uint64_t first : {uint64_t{0}, uint64_t{1} << 20, uint64_t{2} << 20}) {
    ModelReceiver receiver = Receiver();
    const Result<void> sent = SendDamaged(model_, GetParam(), receiver, {first, uint64_t{2} << 20});
    ASSERT_FALSE(sent) << first;
    EXPECT_THAT(sent.error().message, HasSubstr(Text("at offset ", first, " has checksum")));
    EXPECT_EQ(receiver.offset(), first);
    const Result<void> again = SendDamaged(model_, GetParam(), receiver, {});
    ASSERT_TRUE(again) << again.error().message;
    ExpectWhole(std::move(receiver), model_);
  }
}

TEST_P(Transfer, GoesBackTwiceAndBeginsAnewWhenItIsDamagedAgain) {
  ModelReceiver receiver = Receiver();
  for (const uint64_t next : {uint64_t{0}, uint64_t{1} << 20}) {
    ASSERT_FALSE(SendDamaged(model_, GetParam(), receiver, {next}));
    EXPECT_EQ(receiver.offset(), next);
  }
  // Values that are decoded are checked chunk by chunk: nothing else is read for it.
  const uint64_t last = uint64_t{2} << 20;
  ASSERT_FALSE(SendDamaged(model_, GetParam(), receiver, {last}));
  EXPECT_EQ(receiver.offset(), GetParam() == Encoding::kRaw ? 0 : last);
  ASSERT_TRUE(SendDamaged(model_, GetParam(), receiver, {}));
  ExpectWhole(std::move(receiver), model_);
}

// However small they are cut, what is remembered of chunks stays small.
TEST_P(Transfer, ASmallDamagedChunkIsRefusedAtOnce) {
  ModelReceiver receiver = Receiver();
  OwnChunk chunk = ChunkOf(*model_, GetParam(), 0, 65'532);
  chunk.payload[7] ^= std::byte{1};
  const std::span<const std::byte> pieces[] = {chunk.payload};
  EXPECT_THAT(receiver.AddPieces(chunk.header, pieces).error().message, HasSubstr("has checksum"));
  EXPECT_EQ(receiver.offset(), 0u);
}

TEST_P(Transfer, RefusesARepeatedOrASkippedChunkAndGoesOn) {
  ModelReceiver receiver = Receiver();
  std::vector<std::byte> scratch[3];
  ModelSender sender(model_, GetParam());
  Chunk chunks[3];
  for (int i = 0; i < 3; ++i) chunks[i] = sender.Next(scratch[i]);
  ASSERT_TRUE(sender.done());
  const auto add = [&](int i) { return receiver.Add(chunks[i].header, chunks[i].payload); };
  EXPECT_FALSE(add(1));
  EXPECT_TRUE(add(0));
  EXPECT_FALSE(add(0));
  EXPECT_THAT(add(2).error().message,
              HasSubstr("begins at offset 2097152, the next one must begin at 1048576"));
  EXPECT_TRUE(add(1));
  EXPECT_TRUE(add(2));
  EXPECT_FALSE(add(2));
  ExpectWhole(std::move(receiver), model_);
}

TEST_P(Transfer, WithOneFlippedBitAnywhereInAFrameIsRefusedAndGoesOn) {
  ModelPool pool = PoolOf(13);
  const ModelPtr model = AsTransferred(RandomModel(pool, 3), GetParam(), pool);
  ModelReceiver receiver(pool, GetParam(), model->Fingerprint());
  std::vector<std::byte> scratch;
  const Chunk chunk = ModelSender(model, GetParam()).Next(scratch);
  std::vector<std::byte> frame(kFrameHeaderBytes);
  std::ranges::copy(EncodeHeader(chunk.header), frame.begin());
  frame.insert(frame.end(), chunk.payload.begin(), chunk.payload.end());
  for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::vector<std::byte> damaged = frame;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    const Result<FrameHeader> header = DecodeHeader(damaged);
    if (!header) continue;
    EXPECT_FALSE(receiver.Add(*header, std::span(damaged).subspan(kFrameHeaderBytes)))
        << "bit " << bit;
    EXPECT_EQ(receiver.offset(), 0u);
  }
  ASSERT_TRUE(receiver.Add(chunk.header, chunk.payload));
  ExpectWhole(std::move(receiver), model);
}

TEST_P(Transfer, OfAnotherModelThanAnnouncedGivesNone) {
  ModelReceiver receiver(pool_, GetParam(), model_->Fingerprint() + 1);
  ModelSender sender(model_, GetParam());
  SendRest(sender, receiver);
  const Result<ModelPtr> taken = std::move(receiver).Take();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("announced was"));
}

TEST_P(Transfer, ThatIsNotWholeGivesNone) {
  ModelReceiver receiver = Receiver();
  std::vector<std::byte> scratch;
  const Chunk chunk = ModelSender(model_, GetParam()).Next(scratch);
  ASSERT_TRUE(receiver.Add(chunk.header, chunk.payload));
  const Result<ModelPtr> taken = std::move(receiver).Take();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("1048576 of 2400004 bytes are there"));
}

// Some bits of a zstd frame mean nothing: a flipped one leaves the right model, and no other one.
TEST_P(Transfer, OfDamagedPayloadsNeverGivesAnotherModel) {
  ModelPool pool = PoolOf(64);
  const ModelPtr model = AsTransferred(RandomModel(pool, 4), GetParam(), pool);
  Random random({.seed = 7});
  for (int draw = 0; draw < 3'000; ++draw) {
    ModelReceiver receiver(pool, GetParam(), model->Fingerprint());
    for (int tries = 0; tries < 8 && !receiver.complete(); ++tries) {
      // A chunk that is honest but for one of its parts, or not at all.
      const uint64_t rest = 256 - receiver.offset();
      OwnChunk chunk =
          ChunkOf(*model, GetParam(), receiver.offset(), 4 * (1 + random.Below(rest / 4)));
      if (random.Chance(0.3)) chunk.payload = RandomBytes(random, random.Below(300));
      for (uint64_t n = 1 + random.Below(4); n > 0 && !chunk.payload.empty(); --n) {
        chunk.payload[random.Below(chunk.payload.size())] ^= std::byte{1} << random.Below(8);
      }
      auto decoded = static_cast<uint32_t>(4 * random.Below(70));
      if (random.Chance(0.7)) decoded = chunk.header.decoded_length;
      const uint64_t offset = random.Chance(0.9) ? receiver.offset() : random.Next();
      const uint64_t before = receiver.offset();
      const FrameHeader header = HeaderFor(FrameKind::kChunk, chunk.payload, offset, decoded);
      const bool added = receiver.Add(header, chunk.payload).ok();
      EXPECT_EQ(receiver.offset(), before + (added ? decoded : 0));
    }
    const Result<ModelPtr> taken = std::move(receiver).Take();
    if (taken) {
      EXPECT_TRUE(std::ranges::equal((*taken)->bytes(), model->bytes()));
    }
  }
}

TEST_P(Transfer, OfRandomPayloadsNeverGivesAModel) {
  ModelPool pool = PoolOf(64);
  Random random({.seed = 8});
  int complete = 0;
  for (int draw = 0; draw < 3'000; ++draw) {
    ModelReceiver receiver(pool, GetParam(), random.Next());
    for (int tries = 0; tries < 8 && !receiver.complete(); ++tries) {
      const size_t size = 4 * (1 + random.Below(64));
      const std::vector<std::byte> payload =
          RandomBytes(random, GetParam() == Encoding::kHalf ? size / 2 : size);
      (void)receiver
          .Add(
              HeaderFor(FrameKind::kChunk, payload, receiver.offset(), static_cast<uint32_t>(size)),
              payload)
          .ok();
    }
    complete += receiver.complete();
    EXPECT_FALSE(std::move(receiver).Take()) << "draw " << draw;
  }
  // Elsewhere than in zstd it was the fingerprint that refused.
  if (GetParam() != Encoding::kZstd) {
    EXPECT_GT(complete, 100);
  }
}

TEST(ModelReceiver, RefusesAZstdChunkThatDecodesToMoreThanItsHeaderSays) {
  const std::vector<std::byte> zeros(size_t{64} << 20);
  std::vector<std::byte> bomb(ZSTD_compressBound(zeros.size()));
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 19));
  ASSERT_LT(bomb.size(), 100'000u);
  ModelPool pool = PoolOf(kParameters);
  ModelReceiver receiver(pool, Encoding::kZstd, pool.Zero()->Fingerprint());
  const Result<void> added = receiver.Add(HeaderFor(FrameKind::kChunk, bomb, 0, kChunkBytes), bomb);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("chunk at offset 0: zstd cannot decode"));
  EXPECT_EQ(receiver.offset(), 0u);
}

TEST(ModelReceiver, RefusesAZstdChunkThatDecodesToLessThanItsHeaderSays) {
  ModelPool pool = PoolOf(kParameters);
  const ModelPtr model = RandomModel(pool, 1);
  ModelReceiver receiver(pool, Encoding::kZstd, model->Fingerprint());
  OwnChunk chunk = ChunkOf(*model, Encoding::kZstd, 0, 4000);
  chunk.header.decoded_length = 4004;
  const Result<void> added = receiver.Add(chunk.header, chunk.payload);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("to 4000, the header says 4004"));
  EXPECT_EQ(receiver.offset(), 0u);
}

TEST(ModelReceiver, RefusesAChunkBeyondTheEndOfTheModel) {
  ModelPool large = PoolOf(101);
  ModelPool small = PoolOf(100);
  const ModelPtr model = RandomModel(large, 1);
  ModelReceiver receiver(small, Encoding::kRaw, model->Fingerprint());
  std::vector<std::byte> scratch;
  const Chunk chunk = ModelSender(model, Encoding::kRaw).Next(scratch);
  const Result<void> added = receiver.Add(chunk.header, chunk.payload);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("of a model of 400 bytes decodes to 404 bytes"));
}

TEST(ModelReceiver, RefusesAnotherEncodingThanAgreed) {
  ModelPool pool = PoolOf(100);
  const ModelPtr model = AsTransferred(RandomModel(pool, 1), Encoding::kHalf, pool);
  for (Encoding sent : kEncodings) {
    for (Encoding agreed : kEncodings) {
      if (sent == agreed) continue;
      ModelReceiver receiver(pool, agreed, model->Fingerprint());
      std::vector<std::byte> scratch;
      const Chunk chunk = ModelSender(model, sent).Next(scratch);
      EXPECT_FALSE(receiver.Add(chunk.header, chunk.payload))
          << NameOf(sent) << " sent, " << NameOf(agreed) << " agreed";
    }
  }
}

TEST(ModelReceiver, ReturnsItsBufferWhenATransferIsGivenUp) {
  ModelPool pool = PoolOf(100);
  for (int i = 0; i < 5; ++i) ModelReceiver(pool, Encoding::kRaw, 1);
  EXPECT_EQ(pool.allocated(), 1u);
}

}  // namespace
}  // namespace metis::wire
