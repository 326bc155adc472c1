#include "metis/core/text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>

namespace metis {
namespace {

TEST(Text, BuildsMessagesFromValues) {
  EXPECT_EQ(Text("model has ", 12, " tensors, learner ", LearnerId(3), ": ", true, '!'),
            "model has 12 tensors, learner 3: true!");
  EXPECT_EQ(Text(Duration::Seconds(90), " ", std::string("left"), " ", std::string_view("over")),
            "90s left over");
  EXPECT_EQ(Text(), "");
}

TEST(Text, WritesIntegersOfEveryWidth) {
  EXPECT_EQ(Text(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(Text(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(Text(uint8_t{65}, " ", int8_t{-1}), "65 -1");
}

TEST(Text, WritesDoublesShortestSuchThatTheyReadBackEqual) {
  EXPECT_EQ(Text(0.1), "0.1");
  EXPECT_EQ(Text(5.0), "5");
  EXPECT_EQ(Text(-1.5), "-1.5");
  for (double value : {1.0 / 3, 1e-300, 123456789.123456789, 0x1.fffffffffffffp1023}) {
    std::string text = Text(value);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    EXPECT_EQ(read, value) << text;
  }
}

TEST(Text, JoinPutsTheSeparatorBetween) {
  EXPECT_EQ(Join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(Join({"a", "b"}, "/"), "a/b");
  EXPECT_EQ(Join({"a"}), "a");
  EXPECT_EQ(Join({}), "");
}

TEST(Text, SplitKeepsEveryPiece) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(Split("a,b", ','), Pieces({"a", "b"}));
  EXPECT_EQ(Split("a, b,", ','), Pieces({"a", " b", ""}));
  EXPECT_EQ(Split(",,", ','), Pieces({"", "", ""}));
  EXPECT_EQ(Split("a,b", '.'), Pieces({"a,b"}));
  EXPECT_EQ(Split("", ','), Pieces({""}));
}

TEST(Text, TrimTakesTheSpacesAround) {
  EXPECT_EQ(Trim("  a b "), "a b");
  EXPECT_EQ(Trim("\ta"), "\ta");
  EXPECT_EQ(Trim("\t a\r\n", " \t\r\n"), "a");
  EXPECT_EQ(Trim("   "), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(Text, NearestFindsTheSlipOfTheKeyboard) {
  std::vector<std::string> words = {"policy", "protocol", "seed", "duration"};
  EXPECT_EQ(Nearest("polcy", words), "policy");
  EXPECT_EQ(Nearest("sead", words), "seed");
  EXPECT_EQ(Nearest("durration", words), "duration");
  EXPECT_EQ(Nearest("protocol", words), "protocol");
}

TEST(Text, NearestIsEmptyWhereNothingIsClose) {
  std::vector<std::string> words = {"policy", "lr"};
  EXPECT_EQ(Nearest("zzzzzzzz", words), "");
  EXPECT_EQ(Nearest("mu", words), "");  // two edits, but not a letter in common
  EXPECT_EQ(Nearest("", words), "");
  EXPECT_EQ(Nearest("policy", {}), "");
}

TEST(Text, FixedRoundsToItsPlaces) {
  EXPECT_EQ(Fixed(0.8412, 3), "0.841");
  EXPECT_EQ(Fixed(0.8416, 3), "0.842");
  EXPECT_EQ(Fixed(-2, 2), "-2.00");
  EXPECT_EQ(Fixed(12.5, 0), "12");  // ties to even, exactly as the number is
  EXPECT_EQ(Fixed(1e20, 1), "100000000000000000000.0");
  EXPECT_EQ(Fixed(std::numeric_limits<double>::quiet_NaN(), 3), "nan");
  EXPECT_EQ(Fixed(std::numeric_limits<double>::max(), 3).size(), 309u + 4u);
}

}  // namespace
}  // namespace metis
