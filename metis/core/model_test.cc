#include "metis/core/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "metis/core/fingerprint.h"

namespace metis {
namespace {

using testing::HasSubstr;

SchemaPtr Schema(std::vector<TensorSpec> tensors) {
  return *ModelSchema::Create(std::move(tensors));
}

std::string SchemaError(std::vector<TensorSpec> tensors) {
  Result<SchemaPtr> schema = ModelSchema::Create(std::move(tensors));
  return schema ? "" : schema.error().message;
}

TEST(ModelSchema, OffsetsFollowTheOrderOfTensors) {
  SchemaPtr schema = Schema({{"weight", {3, 5}}, {"bias", {5}}, {"scale", {}}});
  EXPECT_EQ(schema->offset(0), 0u);
  EXPECT_EQ(schema->offset(1), 15u);
  EXPECT_EQ(schema->offset(2), 20u);
  EXPECT_EQ(schema->parameters(0), 15u);
  EXPECT_EQ(schema->parameters(1), 5u);
  EXPECT_EQ(schema->parameters(2), 1u);
  EXPECT_EQ(schema->parameters(), 21u);
  EXPECT_EQ(schema->bytes(), 84u);
}

TEST(ModelSchema, ShapesAreWrittenByTheirSizes) {
  EXPECT_EQ(FormatShape({16, 1, 5, 5}), "16x1x5x5");
  EXPECT_EQ(FormatShape({7}), "7");
  EXPECT_EQ(FormatShape({}), "scalar");
}

TEST(ModelSchema, ErrorsNameTheTensor) {
  EXPECT_THAT(SchemaError({}), HasSubstr("at least one tensor"));
  EXPECT_THAT(SchemaError({{"a", {1}}, {"", {2}}}), HasSubstr("empty name"));
  EXPECT_THAT(SchemaError({{"a", {1}}, {"b", {2}}, {"a", {3}}}), HasSubstr("\"a\" stands twice"));
  EXPECT_THAT(SchemaError({{"a", {1}}, {"b", {2, 0}}}),
              HasSubstr("tensor \"b\" has dimension 0: must be at least 1"));
  uint64_t half = uint64_t{1} << 39;
  EXPECT_THAT(SchemaError({{"a", {half, 3}}}), HasSubstr("tensor \"a\" has dimension 3"));
  EXPECT_THAT(SchemaError({{"a", {half}}, {"b", {half + 1}}}),
              HasSubstr("exceeds 2^40 parameters at tensor \"b\""));
  uint64_t huge = uint64_t{1} << 63;  // the product wraps around to 0
  EXPECT_THAT(SchemaError({{"a", {huge, 2}}}), HasSubstr("tensor \"a\""));
  EXPECT_EQ(SchemaError({{"a", {half}}, {"b", {half}}}), "");
}

TEST(ModelSchema, HashDependsOnOrderNameAndShapeAndNothingElse) {
  uint64_t hash = Schema({{"weight", {3, 5}}, {"bias", {5}}})->hash();
  EXPECT_EQ(Schema({{"weight", {3, 5}}, {"bias", {5}}})->hash(), hash);
  EXPECT_NE(Schema({{"bias", {5}}, {"weight", {3, 5}}})->hash(), hash);
  EXPECT_NE(Schema({{"weights", {3, 5}}, {"bias", {5}}})->hash(), hash);
  EXPECT_NE(Schema({{"weight", {5, 3}}, {"bias", {5}}})->hash(), hash);
  EXPECT_NE(Schema({{"weight", {15}}, {"bias", {5}}})->hash(), hash);
  EXPECT_NE(Schema({{"weight", {3, 5, 1}}, {"bias", {5}}})->hash(), hash);
  EXPECT_NE(Schema({{"weight", {3, 5}}})->hash(), hash);
}

TEST(Model, BuffersAreAlignedForTheWidestRegisters) {
  for (uint64_t size : {1u, 7u, 16u, 1001u}) {
    ModelPool pool(Schema({{"w", {size}}}));
    ModelPtr one = pool.Zero();
    ModelPtr other = pool.Zero();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(one->parameters().data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(other->parameters().data()) % 64, 0u);
  }
}

TEST(Model, TensorsAreViewsIntoTheFlatBuffer) {
  ModelPool pool(Schema({{"weight", {2, 2}}, {"bias", {2}}}));
  ModelDraft draft = pool.Draft();
  std::ranges::fill(draft.tensor(0), 1.5f);
  std::ranges::fill(draft.tensor(1), -2.0f);
  ModelPtr model = std::move(draft).Seal();
  EXPECT_THAT(model->parameters(), testing::ElementsAre(1.5f, 1.5f, 1.5f, 1.5f, -2.0f, -2.0f));
  EXPECT_THAT(model->tensor(1), testing::ElementsAre(-2.0f, -2.0f));
  EXPECT_EQ(model->bytes().size(), 24u);
}

TEST(ModelPool, ReusesBuffersSoThatAllocationsStayFlat) {
  ModelPool pool(Schema({{"w", {100}}}));
  for (int i = 0; i < 50; ++i) {
    ModelPtr one = pool.Zero();
    ModelPtr other = pool.Copy(one->parameters());
    ModelDraft dropped = pool.Draft();  // never sealed: its buffer returns all the same
  }
  EXPECT_EQ(pool.allocated(), 3u);
}

TEST(ModelPool, ADraftThatIsReplacedReturnsItsBuffer) {
  ModelPool pool(Schema({{"w", {100}}}));
  for (int i = 0; i < 50; ++i) {
    ModelDraft draft = pool.Draft();
    draft = pool.Draft();
    draft.parameters()[0] = 1;
    ModelDraft moved = std::move(draft);
    EXPECT_EQ(moved.parameters()[0], 1.0f);
  }
  EXPECT_EQ(pool.allocated(), 2u);
}

TEST(ModelPool, IsOutlivedByItsModels) {
  ModelPtr model;
  {
    ModelPool pool(Schema({{"w", {3}}}));
    model = pool.Copy(std::vector<float>{1, 2, 3});
  }
  EXPECT_THAT(model->parameters(), testing::ElementsAre(1, 2, 3));
  model.reset();
}

TEST(ModelPool, BuffersComeAndGoFromSeveralThreads) {
  ModelPool pool(Schema({{"w", {64}}}));
  auto work = [&pool] {
    for (int i = 0; i < 2000; ++i) {
      ModelPtr model = pool.Zero();
      EXPECT_EQ(model->Magnitude(), 0.0f);
    }
  };
  std::thread one(work), other(work);
  one.join();
  other.join();
  EXPECT_LE(pool.allocated(), 2u);
}

TEST(Model, MagnitudeIsTheLargestAbsoluteValueAndInfiniteForAnythingNotFinite) {
  ModelPool pool(Schema({{"w", {37}}}));
  EXPECT_EQ(pool.Zero()->Magnitude(), 0.0f);
  for (size_t place = 0; place < 37; ++place) {
    std::vector<float> parameters(37, 0.5f);
    parameters[place] = -7.25f;
    EXPECT_EQ(pool.Copy(parameters)->Magnitude(), 7.25f);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      parameters[place] = bad;
      EXPECT_EQ(pool.Copy(parameters)->Magnitude(), kInfinity) << "at " << place;
    }
  }
}

TEST(Model, FingerprintIsOfTheParameters) {
  ModelPool pool(Schema({{"w", {3}}}));
  ModelPtr model = pool.Copy(std::vector<float>{1, 2, 3});
  EXPECT_EQ(model->Fingerprint(), pool.Copy(std::vector<float>{1, 2, 3})->Fingerprint());
  EXPECT_NE(model->Fingerprint(), pool.Copy(std::vector<float>{1, 2, 3.0000002f})->Fingerprint());
  EXPECT_NE(model->Fingerprint(), pool.Copy(std::vector<float>{1, 3, 2})->Fingerprint());
}

TEST(ModelPoolDeathTest, CopyingAnotherSizeStopsTheProcess) {
  ModelPool pool(Schema({{"w", {3}}}));
  EXPECT_DEATH(pool.Copy(std::vector<float>{1, 2}), "check failed");
}

TEST(RunningFingerprint, IsThatOfTheWholeHoweverItIsCut) {
  std::string text(5000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 251);
  const auto bytes = std::as_bytes(std::span(text));
  RunningFingerprint running;
  EXPECT_EQ(running.value(), Fingerprint(""));
  for (size_t at = 0, size = 1; at < bytes.size(); at += size, size = size * 3 % 1021) {
    size = std::min(size, bytes.size() - at);
    running.Add(bytes.subspan(at, size));
    EXPECT_EQ(running.value(), Fingerprint(bytes.first(at + size)));
  }
  running.Reset();
  running.Add(bytes.first(3));
  EXPECT_EQ(running.value(), Fingerprint(bytes.first(3)));
}

TEST(Model, FingerprintsOfBlocksAreThoseOfItsParts) {
  constexpr size_t kBlock = Model::kBlockBytes;
  const size_t values = kBlock / sizeof(float);
  for (const size_t size : {size_t{3}, values, values + 1, 2 * values + 77}) {
    ModelPool pool(ModelSchema::Create({{"values", {size}}}).value());
    ModelDraft draft = pool.Draft();
    for (size_t i = 0; i < size; ++i) draft.parameters()[i] = static_cast<float>(i % 1013);
    const ModelPtr model = std::move(draft).Seal();
    EXPECT_EQ(model->Fingerprint(), Fingerprint(model->bytes()));
    const std::span<const uint64_t> blocks = model->BlockFingerprints();
    ASSERT_EQ(blocks.size(), (size * sizeof(float) + kBlock - 1) / kBlock);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t length = std::min(kBlock, model->bytes().size() - i * kBlock);
      EXPECT_EQ(blocks[i], Fingerprint(model->bytes().subspan(i * kBlock, length)));
    }
  }
}

TEST(Model, WhatItsWriterKnewIsBelieved) {
  ModelPool pool(ModelSchema::Create({{"values", {2}}}).value());
  ModelDraft draft = pool.Draft();
  draft.parameters()[0] = 1;
  draft.parameters()[1] = -2.5f;
  const ModelPtr model = std::move(draft).Seal({.fingerprint = 42, .magnitude = 7});
  EXPECT_EQ(model->Fingerprint(), 42u);
  EXPECT_EQ(model->Magnitude(), 7);
  EXPECT_EQ(model->BlockFingerprints()[0], Fingerprint(model->bytes()));
}

}  // namespace
}  // namespace metis
