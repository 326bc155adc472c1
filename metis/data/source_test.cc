#include "metis/data/source.h"

#include <gtest/gtest.h>

namespace metis::data {
namespace {

TEST(FaultyList, ReadsBackWhatItWrites) {
  for (const char* text : {"none", "0:labels=random", "3:labels=noise:0.3, 0:labels=swap:1-2"}) {
    std::vector<FaultyLabels> faulty;
    ASSERT_TRUE(ParseFaultyList(text, faulty)) << text;
    EXPECT_EQ(FormatFaultyList(faulty), text);
  }
}

TEST(FaultyList, AnErrorLeavesItAsItWas) {
  std::vector<FaultyLabels> faulty = {{.learner = 7}};
  for (const char* text : {"", "0:labels=random,", "0:labels=wild", "none, 1:labels=random"}) {
    EXPECT_FALSE(ParseFaultyList(text, faulty)) << text;
  }
  EXPECT_EQ(faulty.size(), 1U);
  EXPECT_TRUE(ParseFaultyList(" none ", faulty));
  EXPECT_TRUE(faulty.empty());
}

}  // namespace
}  // namespace metis::data
