#include "metis/core/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "metis/core/random.h"

namespace metis {
namespace {

using testing::HasSubstr;

enum class Colour { kRed, kGreen, kBlue };

struct Leaf {
  LearnerId learner;
  double weight = 0;

  friend bool operator==(const Leaf&, const Leaf&) = default;
};
template <typename A>
void Fields(A& archive, Leaf& leaf) {
  archive("learner", leaf.learner);
  archive("weight", leaf.weight);
}

struct Other {
  std::string text;

  friend bool operator==(const Other&, const Other&) = default;
};
template <typename A>
void Fields(A& archive, Other& other) {
  archive("text", other.text);
}

// One field of every kind that an archive can hold.
struct Everything {
  bool yes = false;
  uint8_t u8 = 0;
  uint32_t u32 = 0;
  int64_t i64 = 0;
  uint64_t u64 = 0;
  double real = 0;
  std::string text;
  Colour colour = Colour::kRed;
  Version version;
  Instant instant;
  Duration duration;
  Int128 wide = 0;
  Statistics counts;
  Statistics sums;
  Declared classes;
  Declared examples;
  std::vector<Leaf> leaves;
  std::set<LearnerId> learners;
  std::map<LearnerId, std::vector<double>> history;
  std::pair<uint32_t, std::string> pair;
  std::optional<double> present;
  std::optional<double> absent;
  std::variant<Leaf, Other> alternative;
  ModelPtr model;
  ModelPtr same_model;
  ModelPtr no_model;
  uint32_t last = 0;

  friend bool operator==(const Everything&, const Everything&) = default;
};
template <typename A>
void Fields(A& archive, Everything& e) {
  archive("yes", e.yes);
  archive("u8", e.u8);
  archive("u32", e.u32);
  archive("i64", e.i64);
  archive("u64", e.u64);
  archive("real", e.real);
  archive("text", e.text);
  archive("colour", e.colour);
  archive("version", e.version);
  archive("instant", e.instant);
  archive("duration", e.duration);
  archive("wide", e.wide);
  archive("counts", e.counts);
  archive("sums", e.sums);
  archive("classes", e.classes);
  archive("examples", e.examples);
  archive("leaves", e.leaves);
  archive("learners", e.learners);
  archive("history", e.history);
  archive("pair", e.pair);
  archive("present", e.present);
  archive("absent", e.absent);
  archive("alternative", e.alternative);
  archive("model", e.model);
  archive("same_model", e.same_model);
  archive("no_model", e.no_model);
  archive("last", e.last);
}

ModelPtr MakeModel(float first) {
  static ModelPool pool(*ModelSchema::Create({{"w", {3}}}));
  return pool.Copy(std::vector<float>{first, -2.5f, 0.125f});
}

Everything Filled() {
  Everything e;
  e.yes = true;
  e.u8 = 200;
  e.u32 = 4'000'000'000u;
  e.i64 = std::numeric_limits<int64_t>::min();
  e.u64 = std::numeric_limits<uint64_t>::max();
  e.real = -0.1;
  e.text = std::string("a\0b", 3);
  e.colour = Colour::kBlue;
  e.version = Version(77);
  e.instant = Instant::FromNanoseconds(-5);
  e.duration = Duration::Hours(3);
  e.wide = FromWords(-3, 7);
  e.counts = *ConfusionCounts::FromCounts(2, {0, 9, 0, 4});
  e.sums = *RegressionSums::FromSums(7, FromWords(5, 1), -12, FromWords(1, 2));
  e.classes = {9, 0, 4};
  e.examples = RegressionSums::Declaration{7};
  e.leaves = {{LearnerId(3), 0.25}, {LearnerId(1), 1e300}};
  e.learners = {LearnerId(9), LearnerId(2)};
  e.history = {{LearnerId(4), {1.5, 2.5}}, {LearnerId(5), {}}};
  e.pair = {12, "twelve"};
  e.present = 0.5;
  e.alternative = Other{"second"};
  e.model = MakeModel(1);
  e.same_model = e.model;
  e.last = 1990;
  return e;
}

Archived Write(const Everything& e, BinaryWriter::Mode mode = BinaryWriter::Mode::kStore) {
  BinaryWriter writer(mode);
  writer("everything", e);
  return std::move(writer).Take();
}

Result<Everything> Read(const Archived& archived) {
  BinaryReader reader(archived);
  Everything e;
  reader("everything", e);
  Result<void> finished = reader.Finish();
  if (!finished) return finished.error();
  return e;
}

TEST(Archive, EveryTypeReadsBackEqual) {
  Everything written = Filled();
  Result<Everything> read = Read(Write(written));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, written);
  Result<Everything> empty = Read(Write(Everything()));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(*empty, Everything());
}

TEST(Archive, AModelStandsOnceInTheTableHoweverOftenItIsReferredTo) {
  Everything e = Filled();
  EXPECT_EQ(Write(e).models.size(), 1u);
  e.no_model = MakeModel(2);
  Archived archived = Write(e);
  EXPECT_EQ(archived.models.size(), 2u);
  EXPECT_EQ(Read(archived)->same_model, e.model);
}

TEST(Archive, CutShortAtAnyByteItFailsCleanly) {
  Archived whole = Write(Filled());
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    Archived cut = {whole.bytes.substr(0, size), whole.models};
    EXPECT_FALSE(Read(cut)) << "at byte " << size;
  }
}

TEST(Archive, ErrorsNameTheFieldAndTheByte) {
  Archived cut = Write(Filled());
  cut.bytes.pop_back();
  EXPECT_THAT(Read(cut).error().message, HasSubstr("cut short at byte"));
  EXPECT_THAT(Read(cut).error().message, HasSubstr("field \"last\""));
}

TEST(Archive, BytesLeftOverAreAnError) {
  Archived longer = Write(Filled());
  longer.bytes += "xy";
  EXPECT_THAT(Read(longer).error().message, HasSubstr("2 bytes left over"));
}

TEST(Archive, AnyDamagedByteIsReadWithoutACrash) {
  Archived whole = Write(Filled());
  Random random({.seed = 1, .purpose = Purpose::kTest});
  for (int trial = 0; trial < 20'000; ++trial) {
    Archived damaged = whole;
    for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
      damaged.bytes[random.Below(damaged.bytes.size())] = static_cast<char>(random.Below(256));
    }
    (void)Read(damaged).ok();
  }
}

TEST(Archive, AMissingOrDamagedModelIsNoticed) {
  Archived archived = Write(Filled());
  archived.models[0] = MakeModel(1.0000001f);
  EXPECT_THAT(Read(archived).error().message, HasSubstr("a model is damaged"));
  archived.models[0] = nullptr;
  EXPECT_THAT(Read(archived).error().message, HasSubstr("a model is missing"));
  archived.models.clear();
  EXPECT_THAT(Read(archived).error().message, HasSubstr("a model is missing"));
}

TEST(Archive, AModelInAFileIsReadWhenItIsAskedForAndOnceWhileItIsHeld) {
  Everything e = Filled();
  Archived archived = Write(e);
  archived.files[0] = "a file";
  const ModelPtr model = std::exchange(archived.models[0], nullptr);
  EXPECT_THAT(Read(archived).error().message, HasSubstr("a model is missing")) << "nobody reads";
  std::vector<std::string> read;
  archived.read = [&](const std::string& file) -> Result<ModelPtr> {
    read.push_back(file);
    return MakeModel(1);
  };
  const Result<Everything> whole = Read(archived);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->model->Fingerprint(), model->Fingerprint());
  EXPECT_EQ(whole->same_model, whole->model);
  EXPECT_THAT(read, testing::ElementsAre("a file"));
  archived.read = [](const std::string&) -> Result<ModelPtr> { return MakeModel(2); };
  EXPECT_THAT(Read(archived).error().message, HasSubstr("a model is damaged"));
  archived.read = [](const std::string& file) -> Result<ModelPtr> {
    return Unavailable(file + " is on a disk that is gone");
  };
  EXPECT_THAT(Read(archived).error().message,
              HasSubstr("a file is on a disk that is gone at byte"));
}

TEST(Archive, AStoredModelIsReadWithoutItsFile) {
  BinaryWriter writer;
  const ModelPtr model = MakeModel(1);
  writer("there", StoredModel{model, 0, ""});
  writer("in a file", StoredModel{nullptr, model->Fingerprint(), "a file"});
  writer("none", StoredModel{});
  const Archived archived = std::move(writer).Take();
  BinaryReader reader(archived);
  StoredModel there;
  StoredModel in_a_file;
  StoredModel none;
  reader("there", there);
  reader("in a file", in_a_file);
  reader("none", none);
  ASSERT_TRUE(reader.Finish());
  EXPECT_EQ(reader.Load(there).value(), model);
  EXPECT_EQ(in_a_file.file, "a file");
  EXPECT_EQ(in_a_file.fingerprint, model->Fingerprint());
  EXPECT_THAT(reader.Load(in_a_file).error().message, HasSubstr("a model is missing"));
  EXPECT_FALSE(none.exists());
}

TEST(Archive, ATruthValueIsZeroOrOne) {
  Archived archived = Write(Filled());
  archived.bytes[0] = 2;
  EXPECT_THAT(Read(archived).error().message, HasSubstr("neither 0 nor 1"));
}

TEST(Archive, HashModeIsEqualForEqualContent) {
  constexpr auto kHash = BinaryWriter::Mode::kHash;
  Everything one = Filled();
  Everything other = Filled();
  other.model = MakeModel(1);  // another object with the same parameters
  EXPECT_EQ(Write(one, kHash).bytes, Write(other, kHash).bytes);
  EXPECT_NE(Write(one).bytes, Write(other).bytes);  // kStore: two places in the table
  EXPECT_TRUE(Write(one, kHash).models.empty());
  other.model = MakeModel(3);
  EXPECT_NE(Write(one, kHash).bytes, Write(other, kHash).bytes);
  other = Filled();
  other.real = 0.1;
  EXPECT_NE(Write(one, kHash).bytes, Write(other, kHash).bytes);
}

}  // namespace
}  // namespace metis
