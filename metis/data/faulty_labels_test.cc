#include "metis/data/faulty_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FaultyLabels Parse(std::string_view text) {
  Result<FaultyLabels> faulty = ParseFaultyLabels(text);
  EXPECT_TRUE(faulty) << faulty.error().message;
  return *faulty;
}

// Every example but each third belongs to the learner.
struct Site {
  std::vector<uint32_t> labels = Labels({900, 600, 1200, 300});
  std::vector<uint32_t> examples;

  Site() {
    for (uint32_t i = 0; i < labels.size(); ++i) {
      if (i % 3 != 0) examples.push_back(i);
    }
  }
  std::vector<uint32_t> Spoiled(std::string_view text, uint64_t seed = 1990) const {
    std::vector<uint32_t> spoiled = labels;
    const uint64_t changed = SpoilLabels(Parse(text), examples, 4, seed, spoiled);
    uint64_t differ = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      EXPECT_LT(spoiled[i], 4u);
      differ += spoiled[i] != labels[i] ? 1 : 0;
      EXPECT_TRUE(spoiled[i] == labels[i] || i % 3 != 0) << "another learner's label changed";
    }
    EXPECT_EQ(changed, differ);
    return spoiled;
  }
  // How often a label of class `from` became class `to`.
  std::vector<std::vector<double>> Moves(const std::vector<uint32_t>& spoiled) const {
    std::vector<std::vector<double>> moves(4, std::vector<double>(4));
    for (uint32_t i : examples) ++moves[labels[i]][spoiled[i]];
    for (std::vector<double>& row : moves) {
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (double& cell : row) cell /= sum;
    }
    return moves;
  }
};

TEST(FaultyLabels, NoiseTakesEachOtherClassAlikeAndLeavesTheRest) {
  Site site;
  for (double rate : {0.1, 0.3, 1.0}) {
    const auto moves = site.Moves(site.Spoiled(Text("3:labels=noise:", rate)));
    for (size_t from = 0; from < 4; ++from) {
      for (size_t to = 0; to < 4; ++to) {
        EXPECT_NEAR(moves[from][to], from == to ? 1 - rate : rate / 3, 0.12) << rate;
      }
      EXPECT_EQ(moves[from][from] == 0, rate == 1.0) << "noise gave back the right class";
    }
  }
}

TEST(FaultyLabels, RandomTakesEveryClassAlike) {
  Site site;
  for (const auto& row : site.Moves(site.Spoiled("0:labels=random"))) {
    for (double part : row) EXPECT_NEAR(part, 0.25, 0.12);
  }
}

TEST(FaultyLabels, ConstantAndSwapAreExact) {
  Site site;
  for (const auto& row : site.Moves(site.Spoiled("2:labels=constant:3"))) {
    EXPECT_THAT(row, ElementsAre(0, 0, 0, 1));
  }
  EXPECT_THAT(site.Moves(site.Spoiled("2:labels=swap:0-2")),
              ElementsAre(ElementsAre(0, 0, 1, 0), ElementsAre(0, 1, 0, 0), ElementsAre(1, 0, 0, 0),
                          ElementsAre(0, 0, 0, 1)));
}

// Law: spoiling training and validation examples apart, in any order, is spoiling all at once.
TEST(FaultyLabels, AnExamplesFateDependsOnItAlone) {
  Site site;
  for (const char* text : {"1:labels=random", "1:labels=noise:0.4"}) {
    Split split = StratifiedSplit(site.examples, site.labels, 4, 0.2, 5, 1);
    std::reverse(split.training.begin(), split.training.end());
    std::vector<uint32_t> spoiled = site.labels;
    SpoilLabels(Parse(text), split.training, 4, 1990, spoiled);
    SpoilLabels(Parse(text), split.validation, 4, 1990, spoiled);
    EXPECT_EQ(spoiled, site.Spoiled(text));
  }
}

TEST(FaultyLabels, SeedAndLearnerDecide) {
  Site site;
  EXPECT_EQ(site.Spoiled("1:labels=random", 1), site.Spoiled("1:labels=random", 1));
  EXPECT_NE(site.Spoiled("1:labels=random", 1), site.Spoiled("1:labels=random", 2));
  EXPECT_NE(site.Spoiled("1:labels=random", 1), site.Spoiled("2:labels=random", 1));
}

TEST(FaultyLabels, WhatIsFormattedReadsBackEqual) {
  for (const char* text : {"0:labels=random", "3:labels=noise:0.3", "12:labels=noise:1",
                           "2:labels=constant:0", "4:labels=swap:3-5", "4:labels=swap:5-3"}) {
    EXPECT_EQ(FormatFaultyLabels(Parse(text)), text);
  }
  EXPECT_EQ(Parse("4:labels=swap:3-5"),
            (FaultyLabels{.learner = 4, .fault = LabelFault::kSwap, .first = 3, .second = 5}));
}

TEST(FaultyLabels, BadTextIsRefusedWithTheValueAndTheWayOut) {
  for (const char* text : {"",
                           "1",
                           "1:",
                           ":labels=random",
                           "-1:labels=random",
                           "a:labels=random",
                           "1:random",
                           "1:labels=",
                           "1:labels=rnadom",
                           "1:labels=random:1",
                           "1:labels=noise",
                           "1:labels=noise:",
                           "1:labels=noise:0",
                           "1:labels=noise:1.1",
                           "1:labels=noise:nan",
                           "1:labels=noise:0.3x",
                           "1:labels=constant",
                           "1:labels=constant:-1",
                           "1:labels=constant:a",
                           "1:labels=swap",
                           "1:labels=swap:3",
                           "1:labels=swap:3-",
                           "1:labels=swap:3-3",
                           "1:labels=swap:3-4-5",
                           "1:images=random"}) {
    Result<FaultyLabels> faulty = ParseFaultyLabels(text);
    ASSERT_FALSE(faulty) << text;
    EXPECT_THAT(faulty.error().message, HasSubstr(Text("faulty labels \"", text, "\": ")));
    EXPECT_THAT(faulty.error().message, HasSubstr("write \"1:labels=random\""));
  }
  EXPECT_THAT(ParseFaultyLabels("1:labels=rnadom").error().message,
              HasSubstr("did you mean \"random\"?"));
}

TEST(FaultyLabels, LearnersAndClassesMustExist) {
  auto error = [](std::vector<FaultyLabels> faulty, uint32_t classes = 10) {
    Result<void> fits = CheckFaultyLabels(faulty, 4, classes);
    return fits ? "" : fits.error().message;
  };
  EXPECT_EQ(error({Parse("0:labels=random"), Parse("3:labels=swap:0-9")}), "");
  EXPECT_THAT(error({Parse("4:labels=random")}),
              HasSubstr("\"4:labels=random\": there are 4 learners, 0 to 3"));
  EXPECT_THAT(error({Parse("1:labels=random"), Parse("1:labels=constant:0")}),
              HasSubstr("learner 1 has faulty labels already"));
  EXPECT_THAT(error({Parse("1:labels=constant:10")}), HasSubstr("10 classes, 0 to 9"));
  EXPECT_THAT(error({Parse("1:labels=swap:3-10")}), HasSubstr("10 classes, 0 to 9"));
  EXPECT_THAT(error({Parse("1:labels=noise:0.5")}, 1), HasSubstr("with one class"));
}

}  // namespace
}  // namespace metis::data
