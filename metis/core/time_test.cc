#include "metis/core/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/core/random.h"

namespace metis {
namespace {

using testing::HasSubstr;

TEST(Time, InstantsAndDurationsAddUp) {
  Instant start = Instant::FromNanoseconds(500);
  Instant later = start + Duration::Microseconds(2);
  EXPECT_EQ((later - start).nanoseconds(), 2000);
  EXPECT_EQ(later - Duration::Microseconds(2), start);
  EXPECT_LT(start, later);
  EXPECT_EQ(3 * Duration::Milliseconds(5) + Duration::Milliseconds(1), Duration::Milliseconds(16));
  EXPECT_EQ(Duration::Seconds(1) / 4 - Duration::Milliseconds(250), Duration());
  EXPECT_TRUE(Duration().IsZero());
  EXPECT_DOUBLE_EQ(Duration::Milliseconds(1500).seconds(), 1.5);
  EXPECT_EQ(Duration::Hours(1), Duration::Minutes(60));
}

TEST(Time, FromSecondsRoundsToTheNearestNanosecond) {
  EXPECT_EQ(Duration::FromSeconds(1.5e-9).nanoseconds(), 2);
  EXPECT_EQ(Duration::FromSeconds(0.1).nanoseconds(), 100'000'000);
  EXPECT_EQ(Duration::FromSeconds(-2.25).nanoseconds(), -2'250'000'000);
}

TEST(Time, ForeverLeavesRoomToBeAdded) {
  Instant late = Instant() + Duration::Forever();
  EXPECT_GT(late + Duration::Forever(), late);
}

TEST(Time, FormatsInTheLargestUnitThatIsWhole) {
  EXPECT_EQ(FormatDuration(Duration::Hours(4)), "4h");
  EXPECT_EQ(FormatDuration(Duration::Hours(48)), "48h");
  EXPECT_EQ(FormatDuration(Duration::Seconds(90)), "90s");
  EXPECT_EQ(FormatDuration(Duration::Minutes(90)), "90min");
  EXPECT_EQ(FormatDuration(Duration::Milliseconds(250)), "250ms");
  EXPECT_EQ(FormatDuration(Duration::Nanoseconds(1'000'001)), "1000001ns");
  EXPECT_EQ(FormatDuration(Duration()), "0s");
}

TEST(Time, WhatIsFormattedReadsBackToTheNanosecond) {
  Random random({.seed = 1, .purpose = Purpose::kTest});
  for (int i = 0; i < 10'000; ++i) {
    auto bound = uint64_t{1} << random.Below(62);
    auto duration = Duration::Nanoseconds(static_cast<int64_t>(random.Below(bound)));
    if (duration > Duration::Forever()) continue;
    Result<Duration> read = ParseDuration(FormatDuration(duration));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, duration);
  }
  EXPECT_EQ(*ParseDuration(FormatDuration(Duration::Forever())), Duration::Forever());
}

TEST(Time, ReadsEveryUnit) {
  EXPECT_EQ(*ParseDuration("1.5h"), Duration::Minutes(90));
  EXPECT_EQ(*ParseDuration("90 s"), Duration::Seconds(90));
  EXPECT_EQ(*ParseDuration("2min"), Duration::Minutes(2));
  EXPECT_EQ(*ParseDuration("2m"), Duration::Minutes(2));
  EXPECT_EQ(*ParseDuration("1d"), Duration::Hours(24));
  EXPECT_EQ(*ParseDuration("7us"), Duration::Microseconds(7));
  EXPECT_EQ(*ParseDuration("7ns"), Duration::Nanoseconds(7));
  EXPECT_EQ(*ParseDuration("0s"), Duration());
  EXPECT_EQ(*ParseDuration("0.1s"), Duration::Milliseconds(100));
  EXPECT_EQ(*ParseDuration("1e3ms"), Duration::Seconds(1));
}

TEST(Time, ErrorsNameTheTextAndTheUnits) {
  struct Row {
    const char* text;
    const char* why;
  };
  for (const Row& row :
       {Row{"", "no number"}, Row{"s", "no number"}, Row{"nan s", "no number"},
        Row{"-5s", "negative"}, Row{"90", "unit is missing"}, Row{"90 ", "unit is missing"},
        Row{"5 weeks", "\"weeks\" is no unit"}, Row{"5s 3ms", "\"s 3ms\" is no unit"},
        Row{"5S", "\"S\" is no unit"}, Row{"101000d", "longer than 100 years"},
        Row{"1e300s", "100 years"}, Row{"99999999999999999999999999s", "100 years"}}) {
    Result<Duration> read = ParseDuration(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_THAT(read.error().message, HasSubstr(std::string("\"") + row.text + "\""));
    EXPECT_THAT(read.error().message, HasSubstr(row.why));
    EXPECT_THAT(read.error().message, HasSubstr("ns, us, ms, s, min, h, d"));
  }
}

}  // namespace
}  // namespace metis
