#include "metis/core/int128.h"

#include <gtest/gtest.h>

#include <limits>

#include "metis/core/random.h"

namespace metis {
namespace {

constexpr Int128 kLargest = FromWords(std::numeric_limits<int64_t>::max(), UINT64_MAX);
constexpr Int128 kSmallest = FromWords(std::numeric_limits<int64_t>::min(), 0);

TEST(Int128, TextAndBack) {
  EXPECT_EQ(ToText(0), "0");
  EXPECT_EQ(ToText(-7), "-7");
  EXPECT_EQ(ToText(kLargest), "170141183460469231731687303715884105727");
  EXPECT_EQ(ToText(kSmallest), "-170141183460469231731687303715884105728");
  Random random({.seed = 4, .purpose = Purpose::kTest});
  for (int i = 0; i < 1000; ++i) {
    const Int128 value =
        FromWords(static_cast<int64_t>(random.Next()), random.Next()) >> random.Below(128);
    EXPECT_TRUE(Int128FromText(ToText(value)) == value) << ToText(value);
    EXPECT_TRUE(FromWords(HighWord(value), LowWord(value)) == value) << ToText(value);
  }
  EXPECT_TRUE(Int128FromText(ToText(kLargest)) == kLargest);
  EXPECT_TRUE(Int128FromText(ToText(kSmallest)) == kSmallest);
}

TEST(Int128, OtherTextsAndLargerNumbersAreNone) {
  for (const char* text :
       {"", "-", "+1", " 1", "1 ", "0x1", "1e3", "--1", "170141183460469231731687303715884105728",
        "-170141183460469231731687303715884105729",
        "9999999999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(Int128FromText(text)) << text;
  }
}

}  // namespace
}  // namespace metis
