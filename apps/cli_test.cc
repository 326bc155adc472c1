#include "apps/cli.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <optional>

namespace metis::apps {
namespace {

TEST(Cli, ANumberOfTheCommandLineIsFiniteAndWithinItsBounds) {
  const CLI::Validator within = NumberWithin(0.5, 1e6);
  const auto complaint = [&](std::string text) { return within(text); };
  for (const char* good : {"0.5", "7", "1e6"}) EXPECT_EQ(complaint(good), "") << good;
  EXPECT_EQ(complaint("nan"), "\"nan\": must be a number from 0.5 to 1e+06");
  for (const char* bad : {"", "x", "7x", "-nan", "inf", "-7", "0.4999", "1000001"}) {
    EXPECT_NE(complaint(bad), "") << bad;
  }
}

TEST(Cli, AWholeNumberOfTheCommandLineIsDecimal) {
  const CLI::Validator within = WholeWithin(3, 1000);
  std::string text = "010";
  EXPECT_EQ(within(text), "");
  EXPECT_EQ(text, "10");
  text = "-1";
  EXPECT_EQ(within(text), "\"-1\": must be a whole number from 3 to 1000");
  for (const char* bad : {"", "2", "1001", "0x10", "+7", "7 ", "7.0", "18446744073709551621"}) {
    std::string wrong = bad;
    EXPECT_NE(within(wrong), "") << bad;
  }
}

TEST(Cli, ASeedIsWhatAConfigurationCanHold) {
  const auto read = [](const char* text) -> std::optional<uint64_t> {
    CLI::App app;
    uint64_t seed = 1990;
    AddSeedOption(app, seed, "");
    const char* words[] = {"test", "--seed", text};
    try {
      app.parse(3, words);
    } catch (const CLI::ParseError&) {
      return std::nullopt;
    }
    return seed;
  };
  EXPECT_EQ(read("0"), 0u);
  EXPECT_EQ(read("010"), 10u);
  EXPECT_EQ(read("9223372036854775807"), 9223372036854775807u);
  for (const char* bad : {"-1", "9223372036854775808", "99999999999999999999", "0x7", ""}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace metis::apps
