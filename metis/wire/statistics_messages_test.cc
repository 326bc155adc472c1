#include "metis/wire/statistics_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <functional>

#include "metis/wire/messages.h"
#include "metis/wire/testing.h"

namespace metis::wire {
namespace {

using testing::HasSubstr;

v1::Counts Encoded(const Statistics& statistics) {
  v1::Counts message;
  EncodeStatistics(
      statistics, [&] { return message.mutable_counts(); },
      [&] { return message.mutable_statistics(); });
  v1::Counts carried;
  EXPECT_TRUE(carried.ParseFromString(message.SerializeAsString()));
  return carried;
}

Result<Statistics> Decoded(const v1::Counts& message) {
  return DecodeStatistics(message.counts(),
                          message.has_statistics() ? &message.statistics() : nullptr);
}

std::string Complaint(const std::function<void(v1::Named&)>& damage) {
  v1::Counts message = Encoded(SampleSums());
  damage(*message.mutable_statistics());
  const Result<Statistics> decoded = Decoded(message);
  return decoded ? "" : decoded.error().message;
}

void Set(v1::Named& message, const std::string& field, int64_t high, uint64_t low) {
  v1::Integer& value = *(*message.mutable_fields())[field].mutable_values(0);
  value.set_high(high);
  value.set_low(low);
}

TEST(StatisticsMessages, ComeBackAsTheyWere) {
  Random random({.seed = 5, .purpose = Purpose::kTest});
  for (int trial = 0; trial < 50; ++trial) {
    RegressionSums sums;
    for (uint64_t n = random.Below(20); n > 0; --n) {
      ASSERT_TRUE(sums.Count(random.Uniform(-4e6, 4e6), random.Uniform(-4e6, 4e6)));
    }
    EXPECT_EQ(*Decoded(Encoded(sums)), Statistics(sums));
  }
  for (const Statistics& each : {Statistics(SampleSums()), Statistics(SampleCounts()), Statistics(),
                                 Statistics(RegressionSums())}) {
    EXPECT_EQ(*Decoded(Encoded(each)), each);
  }
}

TEST(StatisticsMessages, UseTheFieldOfTheirKindOnly) {
  EXPECT_FALSE(Encoded(SampleCounts()).has_statistics());
  EXPECT_FALSE(Encoded(SampleSums()).has_counts());
  EXPECT_EQ(Encoded(SampleSums()).statistics().kind(), "regression");
  v1::Counts both = Encoded(SampleSums());
  *both.mutable_counts() = Encoded(SampleCounts()).counts();
  EXPECT_THAT(Decoded(both).error().message,
              HasSubstr("both a confusion matrix and statistics of regression"));
  EXPECT_EQ(*Decoded(v1::Counts()), Statistics()) << "left out";
}

TEST(StatisticsMessages, RefuseWhatNoExamplesHave) {
  EXPECT_THAT(Complaint([](v1::Named& m) { Set(m, "n", -1, uint64_t(-5)); }),
              HasSubstr("field \"n\" is -5, not within 0 to 18446744073709551615"));
  EXPECT_THAT(Complaint([](v1::Named& m) { Set(m, "n", 1, 0); }),
              HasSubstr("field \"n\" is 18446744073709551616"));
  EXPECT_THAT(Complaint([](v1::Named& m) { Set(m, "n", 0, UINT64_MAX); }),
              HasSubstr("at most 281474976710656"));
  EXPECT_THAT(Complaint([](v1::Named& m) { Set(m, "n", 0, 0); }), HasSubstr("of 0 examples"));
  for (const char* sum : {"squared_errors", "targets", "squared_targets"}) {
    for (const int64_t high : {INT64_MIN, INT64_MAX}) {
      EXPECT_THAT(Complaint([&](v1::Named& m) { Set(m, sum, high, UINT64_MAX); }),
                  HasSubstr("no targets within"))
          << sum << " " << high;
    }
  }
  EXPECT_THAT(Complaint([](v1::Named& m) { Set(m, "squared_errors", -1, UINT64_MAX); }),
              HasSubstr("squared errors -1,"));
  EXPECT_THAT(Complaint([](v1::Named& m) { Set(m, "squared_targets", 0, 7); }),
              HasSubstr("too small for that sum"));
}

TEST(StatisticsMessages, RefuseUnknownKindsAndFieldsThatAreMissingOrRepeated) {
  EXPECT_THAT(Complaint([](v1::Named& m) { m.set_kind("ranking\x1b[2J"); }),
              HasSubstr("statistics of kind \"ranking?[2J\" are unknown"));
  EXPECT_THAT(Complaint([](v1::Named& m) { m.clear_kind(); }), HasSubstr("kind \"\" are unknown"));
  EXPECT_THAT(Complaint([](v1::Named& m) { m.set_kind("classification"); }),
              HasSubstr("travel as a matrix"));
  EXPECT_THAT(Complaint([](v1::Named& m) { m.clear_fields(); }),
              HasSubstr("regression: field \"n\" is missing"));
  EXPECT_THAT(Complaint([](v1::Named& m) { (*m.mutable_fields())["targets"].clear_values(); }),
              HasSubstr("field \"targets\" has 0 numbers, not one"));
  EXPECT_THAT(Complaint([](v1::Named& m) { (*m.mutable_fields())["targets"].add_values(); }),
              HasSubstr("field \"targets\" has 2 numbers, not one"));
  EXPECT_EQ(Complaint([](v1::Named& m) { (*m.mutable_fields())["of a newer peer"]; }), "");
}

TEST(StatisticsMessages, AreReadFromAnyBytesWithoutACrash) {
  const google::protobuf::LogSilencer no_words_about_text_that_is_not_utf8;
  const std::string whole = Encoded(SampleSums()).SerializeAsString();
  Random random({.seed = 2, .purpose = Purpose::kTest});
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string damaged = whole.substr(0, 1 + random.Below(whole.size()));
    for (uint64_t n = random.Below(4); n > 0; --n) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    }
    v1::Counts message;
    if (!message.ParseFromString(damaged)) continue;
    const Result<Statistics> decoded = Decoded(message);
    EXPECT_LE(decoded ? decoded->Headline() : 0, 1);
  }
}

// Each is possible by itself: only together they are too many.
TEST(StatisticsMessages, APoolThatWouldOverflowIsRefused) {
  const auto n = static_cast<Int128>(RegressionSums::kMaxExamples);
  const Int128 square = Int128{1} << 76;
  const Statistics full =
      *RegressionSums::FromSums(RegressionSums::kMaxExamples, n * 4 * square, 0, n * square);
  Statistics pooled = *Decoded(Encoded(full));
  EXPECT_EQ(pooled, full);
  EXPECT_THAT(pooled.Add(full).error().message, HasSubstr("no data set is that large"));
  EXPECT_EQ(pooled, full);
}

TEST(DeclaredMessages, AreOfOneKind) {
  v1::Join join;
  EncodeDeclared(RegressionSums::Declaration{41}, &join);
  EXPECT_TRUE(join.validation_counts().empty());
  EXPECT_EQ(*DecodeDeclared(join), Declared(RegressionSums::Declaration{41}));
  join.add_validation_counts(7);
  EXPECT_THAT(DecodeDeclared(join).error().message,
              HasSubstr("a validation set both of 1 classes and of regression"));
  join.clear_validation_counts();
  Set(*join.mutable_validation(), "examples", -1, 0);
  EXPECT_THAT(DecodeDeclared(join).error().message, HasSubstr("field \"examples\" is -1844674"));
  join.mutable_validation()->set_kind("classification");
  EXPECT_THAT(DecodeDeclared(join).error().message, HasSubstr("travel as a matrix"));
}

}  // namespace
}  // namespace metis::wire
