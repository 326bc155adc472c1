#include "metis/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "metis/wire/testing.h"
#include "metis/wire/transfer.h"

namespace metis::wire {
namespace {

using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<std::byte> Frame(const FrameHeader& header, std::span<const std::byte> payload) {
  const auto head = EncodeHeader(header);
  std::vector<std::byte> frame(head.begin(), head.end());
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

bool IsGood(std::span<const std::byte> frame) {
  const Result<FrameHeader> header = DecodeHeader(frame);
  return header && CheckPayload(*header, frame.subspan(kFrameHeaderBytes)).ok();
}

TEST(Frame, HasTheBytesOfItsDescription) {
  const FrameHeader header = {.kind = FrameKind::kChunk,
                              .offset = 0x1122334455667788,
                              .length = 0x00020304,
                              .decoded_length = 0x00304050,
                              .checksum = 0xa1a2a3a4a5a6a7a8};
  const std::string wanted(
      "MTF1\x03\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\x04\x03\x02\0\x50\x40\x30\0"
      "\xa8\xa7\xa6\xa5\xa4\xa3\xa2\xa1",
      kFrameHeaderBytes);
  EXPECT_TRUE(std::ranges::equal(EncodeHeader(header), Bytes(wanted)));
}

TEST(Frame, ChecksumIsXxh3OfThePayload) {
  EXPECT_EQ(HeaderFor(FrameKind::kResume, {}, 4096).checksum, 0x2d06800538d394c2u);
}

TEST(Frame, ComesBackAsItWas) {
  const FrameHeader headers[] = {
      HeaderFor(FrameKind::kOpen, Bytes("who I am")),
      HeaderFor(FrameKind::kResume, {}, uint64_t{1} << 41),
      HeaderFor(FrameKind::kChunk, Bytes("0123456"), 40, kMaxChunkBytes),
      HeaderFor(FrameKind::kEnd, Bytes("")),
  };
  for (const FrameHeader& header : headers) {
    const Result<FrameHeader> decoded = DecodeHeader(EncodeHeader(header));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->kind, header.kind);
    EXPECT_EQ(decoded->offset, header.offset);
    EXPECT_EQ(decoded->length, header.length);
    EXPECT_EQ(decoded->decoded_length, header.decoded_length);
    EXPECT_EQ(decoded->checksum, header.checksum);
  }
}

TEST(Frame, RefusesWhatIsOutOfBounds) {
  struct Case {
    FrameHeader header;
    std::string_view said;
  };
  constexpr auto kOpen = FrameKind::kOpen;
  constexpr auto kChunk = FrameKind::kChunk;
  const Case cases[] = {
      {{.kind = static_cast<FrameKind>(0)}, "kind 0 is unknown"},
      {{.kind = static_cast<FrameKind>(5)}, "kind 5 is unknown"},
      {{.kind = kOpen, .length = kMaxOpenBytes + 1}, "announces 16777217 bytes, at most 16777216"},
      {{.kind = kOpen, .offset = 8}, "offset 8"},
      {{.kind = kOpen, .decoded_length = 4}, "decoded length 4"},
      {{.kind = FrameKind::kEnd, .length = kMaxOpenBytes + 1}, "announces 16777217 bytes"},
      {{.kind = FrameKind::kResume, .length = 1}, "announces 1 bytes, at most 0"},
      {{.kind = kChunk, .length = kMaxChunkBytes + 1, .decoded_length = 4}, "announces 4194305"},
      {{.kind = kChunk, .length = 4, .decoded_length = kMaxChunkBytes + 4}, "decodes to 4194308"},
      {{.kind = kChunk, .length = 4, .decoded_length = 0}, "decodes to 0 bytes"},
      {{.kind = kChunk, .length = 4, .decoded_length = 6}, "decodes to 6 bytes"},
      {{.kind = kChunk, .offset = 2, .length = 4, .decoded_length = 4}, "at offset 2"},
  };
  for (const Case& refused : cases) {
    const Result<FrameHeader> decoded = DecodeHeader(EncodeHeader(refused.header));
    ASSERT_FALSE(decoded) << refused.said;
    EXPECT_THAT(decoded.error().message, HasSubstr(std::string(refused.said)));
  }
}

TEST(Frame, RefusesEveryShortHeaderAndAnotherMagic) {
  auto bytes = EncodeHeader(HeaderFor(FrameKind::kEnd, {}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeHeader(std::span(bytes).first(size))) << size;
  }
  EXPECT_TRUE(DecodeHeader(bytes));
  bytes[3] = std::byte{'2'};
  const Result<FrameHeader> decoded = DecodeHeader(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().message, HasSubstr("begins with 3246544d, not with 3146544d"));
}

TEST(Frame, NamesBothChecksums) {
  const FrameHeader header = HeaderFor(FrameKind::kEnd, Bytes("abc"));
  const Result<void> checked = CheckPayload(header, Bytes("abd"));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("78af5f94892f3950"));  // of "abc"
  EXPECT_THAT(CheckPayload(header, Bytes("ab")).error().message, HasSubstr("3 bytes and holds 2"));
}

TEST(Frame, WithOneFlippedBitAnywhereIsRefused) {
  const std::string_view payload = "a message of some bytes";
  for (FrameKind kind : {FrameKind::kOpen, FrameKind::kEnd}) {
    const std::vector<std::byte> frame = Frame(HeaderFor(kind, Bytes(payload)), Bytes(payload));
    ASSERT_TRUE(IsGood(frame));
    for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
      std::vector<std::byte> damaged = frame;
      damaged[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_FALSE(IsGood(damaged)) << "kind " << static_cast<int>(kind) << ", bit " << bit;
    }
  }
}

// No checksum covers an offset: a damaged one leads to a chunk that the receiver does not wait for.
TEST(Frame, ToResumeWithAFlippedBitIsRefusedByOneSideOrTheOther) {
  ModelPool pool = PoolOf(1000);
  const ModelPtr model = RandomModel(pool, 1);
  ModelReceiver receiver(pool, Encoding::kRaw, model->Fingerprint());
  ModelSender first(model, Encoding::kRaw);
  const auto frame = EncodeHeader(HeaderFor(FrameKind::kResume, {}, 0));
  for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
    auto damaged = frame;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    const Result<FrameHeader> header = DecodeHeader(damaged);
    if (!header || !CheckPayload(*header, {})) continue;
    ModelSender sender(model, Encoding::kRaw);
    if (!sender.ResumeAt(header->offset)) continue;
    std::vector<std::byte> scratch;
    const Chunk chunk = sender.Next(scratch);
    EXPECT_FALSE(receiver.Add(chunk.header, chunk.payload)) << "bit " << bit;
    EXPECT_EQ(receiver.offset(), 0u);
  }
}

TEST(Frame, OfRandomBytesIsNeverGood) {
  Random random({.seed = 20});
  for (int draw = 0; draw < 20'000; ++draw) {
    std::vector<std::byte> frame = RandomBytes(random, random.Below(96));
    // Half of them get as far as their lengths, some as far as their checksum.
    if (frame.size() >= kFrameHeaderBytes && random.Chance(0.5)) {
      FrameHeader header = {.kind = static_cast<FrameKind>(random.Below(6)),
                            .offset = random.Chance(0.5) ? 0 : random.Next(),
                            .length = static_cast<uint32_t>(frame.size() - kFrameHeaderBytes),
                            .decoded_length = static_cast<uint32_t>(random.Below(64)),
                            .checksum = random.Next()};
      std::ranges::copy(EncodeHeader(header), frame.begin());
    }
    EXPECT_FALSE(IsGood(frame)) << "draw " << draw;
  }
}

}  // namespace
}  // namespace metis::wire
