#include "metis/core/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace metis {
namespace {

TEST(ParseNumber, ReadsTheWholeText) {
  EXPECT_EQ(ParseNumber<uint32_t>("010"), 10u);
  EXPECT_EQ(ParseNumber<int64_t>("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseNumber<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ParseNumber<double>("-1.5e3"), -1500.0);
  EXPECT_TRUE(std::isnan(*ParseNumber<double>("nan")));
}

TEST(ParseNumber, RefusesWhatIsMoreOrLessThanANumber) {
  for (const char* wrong : {"", " 7", "7 ", "+7", "7x", "0x7", "7.0", "-1", "4294967296", "ten"}) {
    EXPECT_EQ(ParseNumber<uint32_t>(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(ParseNumber<double>("1.5s"), std::nullopt);
  EXPECT_EQ(ParseNumber<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace metis
