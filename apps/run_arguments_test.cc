#include "apps/run_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace metis::apps {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(FlattenSettings, NamesEveryKeyBySectionAndAGroupByItsName) {
  const char* text =
      "[federation]\npolicy = \"async-dvw\"\nseed = 18446744073\n"
      "[data]\nsizes = \"powerlaw:1.5\"\naugmentation = false\nshare = 0.6666666666666666\n"
      "[[group]]\nname = \"fast\"\nlearners = 5\n[[group]]\nname = \"slow\"\nlearners = 7\n";
  EXPECT_THAT(FlattenSettings(text, "config.toml").value(),
              UnorderedElementsAre(
                  Pair("federation.policy", "async-dvw"), Pair("federation.seed", "18446744073"),
                  Pair("data.sizes", "powerlaw:1.5"), Pair("data.augmentation", "false"),
                  Pair("data.share", "0.6666666666666666"), Pair("group.fast.learners", "5"),
                  Pair("group.slow.learners", "7")));
}

TEST(FlattenSettings, NumbersGroupsWithoutAName) {
  EXPECT_THAT(FlattenSettings("[[group]]\nlearners = 5\n[[group]]\nlearners = 7\n", "c").value(),
              UnorderedElementsAre(Pair("group.1.learners", "5"), Pair("group.2.learners", "7")));
}

TEST(FlattenSettings, SaysWhereATextIsNoToml) {
  Result<report::FlatSettings> flat = FlattenSettings("[a]\nb = \n", "run/config.toml");
  ASSERT_FALSE(flat.ok());
  EXPECT_THAT(flat.error().message, HasSubstr("run/config.toml:2"));
}

TEST(RunArguments, MoreTargetsThanColumnsAreRefused) {
  Result<report::Figures> figures = GatherFigures({{"nowhere"}, {0.1, 0.2, 0.3, 0.2, 0.4}});
  ASSERT_FALSE(figures.ok());
  EXPECT_THAT(figures.error().message, HasSubstr("--target is given 4 times: at most 3"));
}

}  // namespace
}  // namespace metis::apps
