#include "metis/report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/report/testing.h"

namespace metis::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

RunFigures Made(const std::string& directory, uint64_t seed, FlatSettings settings = {},
                std::vector<double> accuracies = {}) {
  RunFigures run;
  run.directory = directory;
  run.policy = "async-dvw";
  run.seed = seed;
  run.settings = std::move(settings);
  for (double accuracy : accuracies) {
    const auto t_s = static_cast<double>(10 * run.tests.size());
    run.tests.push_back({.t_s = t_s, .requests = run.tests.size(), .accuracy = accuracy});
  }
  return run;
}

std::vector<std::string> Labels(const std::vector<Group>& groups) {
  std::vector<std::string> labels;
  for (const Group& group : groups) labels.push_back(group.label);
  return labels;
}

TEST(GroupRuns, RunsThatDifferOnlyInTheirSeedAreOneGroupBySeed) {
  std::vector<std::string> notices;
  std::vector<Group> groups = GroupRuns(
      {Made("b", 7, {{"x", "1"}}), Made("c", 5, {{"x", "2"}}), Made("a", 3, {{"x", "1"}})},
      notices);
  ASSERT_EQ(groups.size(), 2u);
  ASSERT_EQ(groups[0].runs.size(), 2u);
  EXPECT_EQ(groups[0].runs[0].directory, "a");
  EXPECT_EQ(groups[0].runs[1].directory, "b");
  EXPECT_EQ(groups[1].runs[0].directory, "c");
  EXPECT_THAT(notices, IsEmpty());
}

TEST(GroupRuns, ALabelNamesOnlyWhatDiffersWithinAPolicy) {
  RunFigures other = Made("d", 1, {{"x", "5"}, {"z", "9"}});
  other.policy = "fedasync";
  std::vector<std::string> notices;
  EXPECT_THAT(
      Labels(GroupRuns({Made("a", 1, {{"x", "1"}, {"y", "2"}, {"z", "3"}}), other,
                        Made("b", 1, {{"x", "1"}, {"y", "4"}, {"z", "3"}}),
                        Made("c", 1, {{"x", "1"}, {"z", "3"}})},
                       notices)),
      ElementsAre("async-dvw, y = 2", "fedasync", "async-dvw, y = 4", "async-dvw, y = unset"));
}

TEST(GroupRuns, ALabelOfManyDifferencesNamesThoseThatTellTheGroupsApart) {
  std::vector<std::string> notices;
  auto settings = [](const char* a, const char* b, const char* c) {
    return FlatSettings{{"a", a}, {"b", b}, {"c", c}, {"d", a}};
  };
  EXPECT_THAT(Labels(GroupRuns(
                  {Made("1", 1, settings("0", "5", "8")), Made("2", 1, settings("1", "5", "8")),
                   Made("3", 1, settings("1", "6", "9")), Made("4", 1, settings("0", "7", "9"))},
                  notices)),
              ElementsAre("async-dvw, b = 5, a = 0, 2 more settings",
                          "async-dvw, b = 5, a = 1, 2 more settings",
                          "async-dvw, b = 6, a = 1, 2 more settings",
                          "async-dvw, b = 7, a = 0, 2 more settings"));
}

TEST(GroupRuns, ARepetitionIsLeftOutWithANotice) {
  std::vector<std::string> notices;
  std::vector<Group> groups =
      GroupRuns({Made("a", 3, {}, {0.1, 0.6}), Made("b", 3, {}, {0.1, 0.6})}, notices);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].runs.size(), 1u);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], HasSubstr("b is left out: it repeats a"));
  EXPECT_THAT(notices[0], HasSubstr("seed 3"));
}

TEST(GroupRuns, TheSameSeedWithAnotherOutcomeIsAGroupByItsDirectory) {
  std::vector<std::string> notices;
  std::vector<Group> groups =
      GroupRuns({Made("old/3", 3, {}, {0.1, 0.6}), Made("old/4", 4, {}, {0.1, 0.5}),
                 Made("new/3", 3, {}, {0.1, 0.7}), Made("new/4", 4, {}, {0.1, 0.8})},
                notices);
  EXPECT_THAT(Labels(groups), ElementsAre("async-dvw, in old/3", "async-dvw, in new/3"));
  EXPECT_EQ(groups[1].runs.size(), 2u);
  EXPECT_THAT(notices, IsEmpty());
}

std::vector<Group> GroupsOf(const std::vector<std::vector<double>>& accuracies) {
  std::vector<Group> groups;
  for (const std::vector<double>& each : accuracies) {
    groups.push_back({"", "", {}, {Made("r", 1, {}, each)}});
  }
  return groups;
}

TEST(ChooseTargets, AreTheHighestRoundAccuraciesThatMostGroupsReach) {
  EXPECT_THAT(ChooseTargets(GroupsOf({{0.1, 0.93}, {0.1, 0.82}, {0.1, 0.66}})),
              ElementsAre(0.7, 0.75, 0.8));
  // Two of four are not most.
  EXPECT_THAT(ChooseTargets(GroupsOf({{0.1, 0.9}, {0.1, 0.9}, {0.1, 0.3}, {0.1, 0.4}})),
              ElementsAre(0.3, 0.35, 0.4));
}

TEST(ChooseTargets, PassOverWhatAllBeginWithAndGoFinerWhereAllIsSmall) {
  EXPECT_THAT(ChooseTargets(GroupsOf({{0.12, 0.17}})), ElementsAre(0.15));
  EXPECT_THAT(ChooseTargets(GroupsOf({{0.01, 0.034}})), ElementsAre(0.02, 0.03));
  EXPECT_THAT(ChooseTargets(GroupsOf({{0.5, 0.5}})), IsEmpty());
  EXPECT_THAT(ChooseTargets(GroupsOf({{}})), IsEmpty());
}

TEST(ChooseTargets, AGroupReachesWhatHalfOfItsRunsReach) {
  std::vector<Group> groups = GroupsOf({{0.1, 0.9}});
  groups[0].runs.push_back(Made("s", 2, {}, {0.1, 0.52}));
  groups[0].runs.push_back(Made("t", 3, {}, {0.1, 0.61}));
  EXPECT_THAT(ChooseTargets(groups), ElementsAre(0.5, 0.55, 0.6));
}

TEST(Compare, GivesMeanDeviationAndHowManySeedsReachATarget) {
  Group group{"", "", {}, {}};
  group.runs = {Made("a", 1, {}, {0.1, 0.5, 0.8}), Made("b", 2, {}, {0.1, 0.6, 0.7}),
                Made("c", 3, {}, {0.1, 0.3, 0.6})};
  group.runs[0].requests = 10;
  group.runs[1].requests = 20;
  group.runs[2].requests = 60;
  Comparison comparison = Compare(group, {0.6, 0.9});
  EXPECT_THAT(comparison.requests.spread.mean, Optional(30.0));
  EXPECT_NEAR(*comparison.requests.spread.deviation, 26.457513, 1e-6);
  EXPECT_NEAR(*comparison.final_accuracy.spread.mean, 0.7, 1e-12);
  EXPECT_NEAR(*comparison.final_accuracy.spread.deviation, 0.1, 1e-12);
  EXPECT_THAT(comparison.time_to_accuracy_s[0].values,
              ElementsAre(Optional(20.0), Optional(10.0), Optional(20.0)));
  EXPECT_THAT(comparison.requests_to_accuracy[0].values,
              ElementsAre(Optional(2.0), Optional(1.0), Optional(2.0)));
  EXPECT_EQ(comparison.time_to_accuracy_s[1].spread.count, 0u);
  EXPECT_EQ(comparison.time_to_accuracy_s[1].spread.mean, std::nullopt);
}

using FindRunsTest = HandmadeRuns;

TEST_F(FindRunsTest, ADirectoryStandsForTheRunsBelowItEachOnce) {
  for (const char* name : {"set/2/b", "set/2/a", "set/1", "lone"}) WriteRun(name, "", {});
  Write("set/2/notes/readme.txt", "none");
  Result<std::vector<std::string>> runs =
      FindRuns({PathOf("lone/"), PathOf("set"), PathOf("set/2/../2/a"), PathOf("lone")});
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  EXPECT_THAT(*runs,
              ElementsAre(PathOf("lone"), PathOf("set/1"), PathOf("set/2/a"), PathOf("set/2/b")));
}

TEST_F(FindRunsTest, APlaceWithoutARunIsAnError) {
  WriteRun("a/b/c/d/e", "", {});
  Write("file", "");
  EXPECT_TRUE(FindRuns({PathOf("a/b")}).ok());
  EXPECT_THAT(FindRuns({PathOf("a")}).value(), ElementsAre(PathOf("a/b/c/d/e")));
  EXPECT_THAT(FindRuns({home_.string()}).error().message, HasSubstr("there is no run in"));
  EXPECT_THAT(FindRuns({PathOf("a"), PathOf("none")}).error().message,
              HasSubstr("none does not exist"));
  EXPECT_THAT(FindRuns({PathOf("file")}).error().message, HasSubstr("file is a file"));
  EXPECT_FALSE(FindRuns({""}).ok());
}

using GatherFiguresTest = HandmadeRuns;

TEST_F(GatherFiguresTest, MakesTheDataOfAPageFromDirectories) {
  const std::vector<std::string> lines = {Joined(0, "fast", 90), TestedTenths(0, 1),
                                          Committed(2, {Part(0, 1, 5)}), TestedTenths(3, 8)};
  WriteRun("s8/async-dvw", Config("async-dvw", 8), lines);
  WriteRun("s8/fedasync", Config("fedasync", 8), lines);
  WriteRun("s2/async-dvw", Config("async-dvw", 2), lines);
  Result<Figures> figures = GatherFigures({PathOf("s8"), PathOf("s2")}, {}, ReadFlat);
  ASSERT_TRUE(figures.ok()) << figures.error().message;
  Json data = FiguresJson(*figures, "metis 1.2.3");
  EXPECT_EQ(data["title"], Text(PathOf("s8"), ", ", PathOf("s2")));
  EXPECT_EQ(data["program"], "metis 1.2.3");
  EXPECT_EQ(data["target_accuracies"], (std::vector<double>{0.7, 0.75, 0.8}));
  ASSERT_EQ(data["groups"].size(), 2u);
  EXPECT_EQ(data["groups"][0]["label"], "async-dvw");
  EXPECT_EQ(data["groups"][0]["settings"], Json({{"federation.policy", "async-dvw"}}));
  EXPECT_EQ(data["groups"][0]["runs"][0]["seed"], 2);
  EXPECT_EQ(data["groups"][0]["runs"][1]["directory"], PathOf("s8/async-dvw"));
  EXPECT_EQ(data["groups"][0]["runs"][1]["time_to_accuracy_s"], (std::vector<double>{3, 3, 3}));
  EXPECT_EQ(GatherFigures({PathOf("s8")}, {0.4}, ReadFlat)->targets, std::vector<double>{0.4});
}

TEST_F(GatherFiguresTest, ManyLongRunsAreThinnedToStaySmall) {
  Figures figures;
  RunFigures run = Made("a", 1);
  run.updates.assign(30'000, {1.5, 3, 0.123456, 789, 4, "epochs"});
  figures.groups = {{"a", "a", {}, {run}}};
  EXPECT_EQ(FiguresJson(figures, "")["groups"][0]["runs"][0]["updates"]["thinned"], 2);
  figures.groups.assign(40, figures.groups[0]);
  Json data = FiguresJson(figures, "");
  EXPECT_EQ(data["groups"][0]["runs"][0]["updates"]["thinned"], 5);
  EXPECT_LT(data.dump().size(), 20'000'000u);
}

}  // namespace
}  // namespace metis::report
