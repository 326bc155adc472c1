// What is sent of a model. That it arrives: transfer_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metis/core/fingerprint.h"
#include "metis/wire/frame.h"
#include "metis/wire/testing.h"
#include "metis/wire/transfer.h"

namespace metis::wire {
namespace {

TEST(ModelSender, SendsRawValuesFromTheModelItself) {
  ModelPool pool = PoolOf(600'001);
  const ModelPtr model = RandomModel(pool, 1);
  ModelSender sender(model, Encoding::kRaw);
  std::vector<std::byte> scratch;
  sender.Next(scratch);
  EXPECT_EQ(sender.Next(scratch).payload.data(), model->bytes().data() + kChunkBytes);
  EXPECT_TRUE(scratch.empty());
}

// The bytes that docs/wire.md shows.
TEST(ModelSender, SendsTheFramesOfItsDescription) {
  ModelPool pool = PoolOf(2);
  const ModelPtr model = pool.Copy(std::vector<float>{1.0f, -2.5f});
  EXPECT_EQ(model->Fingerprint(), 0x3f8e59f0dae191deu);
  const auto sent = [&](Encoding encoding) {
    std::vector<std::byte> scratch;
    const Chunk chunk = ModelSender(model, encoding).Next(scratch);
    std::string text;
    const auto add = [&](std::span<const std::byte> bytes) {
      for (std::byte byte : bytes) text += Hex(static_cast<uint64_t>(byte)).substr(14);
    };
    add(EncodeHeader(chunk.header));
    add(chunk.payload);
    return text;
  };
  EXPECT_EQ(sent(Encoding::kRaw),
            "4d5446310300000000000000000000000800000008000000de91e1daf0598e3f"
            "0000803f000020c0");
  EXPECT_EQ(sent(Encoding::kHalf),
            "4d54463103000000000000000000000004000000080000003e109ef03fcf3a11"
            "003c00c1");
}

TEST(ModelSender, RefusesToGoOnWhereNoValueBegins) {
  ModelPool pool = PoolOf(100);
  ModelSender sender(RandomModel(pool, 1), Encoding::kRaw);
  for (uint64_t bad : {uint64_t{1}, uint64_t{398}, uint64_t{404}, UINT64_MAX, UINT64_MAX - 3}) {
    EXPECT_FALSE(sender.ResumeAt(bad)) << bad;
  }
  EXPECT_EQ(sender.offset(), 0u);
  ASSERT_TRUE(sender.ResumeAt(400));
  EXPECT_TRUE(sender.done());
}

TEST(ModelSender, HalvesTakeHalfTheBytesAndZstdLessForRegularValues) {
  ModelPool pool = PoolOf(10'000);
  std::vector<std::byte> scratch;
  EXPECT_EQ(ModelSender(RandomModel(pool, 1), Encoding::kHalf).Next(scratch).payload.size(),
            20'000u);
  EXPECT_LT(ModelSender(pool.Zero(), Encoding::kZstd).Next(scratch).payload.size(), 100u);
}

TEST(AsTransferred, RoundsHalvesOnceAndLeavesTheOthersAlone) {
  ModelPool pool = PoolOf(10'001);
  const ModelPtr model = RandomModel(pool, 1);
  EXPECT_EQ(AsTransferred(model, Encoding::kRaw, pool), model);
  EXPECT_EQ(AsTransferred(model, Encoding::kZstd, pool), model);
  const ModelPtr once = AsTransferred(model, Encoding::kHalf, pool);
  EXPECT_NE(once->Fingerprint(), model->Fingerprint());
  EXPECT_EQ(AsTransferred(once, Encoding::kHalf, pool)->Fingerprint(), once->Fingerprint());
  for (size_t i = 0; i < model->size(); ++i) {
    const float value = model->parameters()[i];
    ASSERT_NEAR(once->parameters()[i], value, std::abs(value) / 2048 + 0x1p-25) << i;
  }
}

}  // namespace
}  // namespace metis::wire
