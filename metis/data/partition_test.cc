#include "metis/data/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "metis/core/random.h"
#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::HasSubstr;

size_t ClassesHeld(const Share& share) {
  return static_cast<size_t>(std::count_if(share.class_counts.begin(), share.class_counts.end(),
                                           [](uint64_t count) { return count > 0; }));
}

// What holds for every partition but those by table or writers.
void ExpectSound(const Partition& partition, const std::vector<uint32_t>& labels,
                 uint32_t classes) {
  ExpectDealt(partition, labels, classes);
  for (const Share& share : partition.shares) EXPECT_LE(share.examples.size(), share.wanted);
  std::vector<uint64_t> wanted = Wanted(partition);
  EXPECT_TRUE(std::is_sorted(wanted.rbegin(), wanted.rend()));
  EXPECT_EQ(std::accumulate(wanted.begin(), wanted.end(), uint64_t{0}), labels.size());
}

Partition Make(const std::vector<uint32_t>& labels, uint32_t classes, uint32_t learners,
               const PartitionSettings& settings, uint64_t seed) {
  Result<Partition> partition = MakePartition(labels, classes, learners, settings, seed);
  EXPECT_TRUE(partition) << partition.error().message;
  ExpectSound(*partition, labels, classes);
  return *std::move(partition);
}

TEST(Partition, UniformSizesDifferByAtMostOne) {
  std::vector<uint32_t> labels = Labels({41, 29, 33});
  EXPECT_EQ(Wanted(Make(labels, 3, 10, Settings("uniform", "iid"), 1)),
            (std::vector<uint64_t>{11, 11, 11, 10, 10, 10, 10, 10, 10, 10}));
}

TEST(Partition, SkewedSizesAreProportionalAndNoTwoEqual) {
  // 5 + 4 + 3 + 2 + 1 = 15 parts of 300.
  EXPECT_EQ(Wanted(Make(Labels({100, 120, 80}), 3, 5, Settings("skewed", "iid"), 1)),
            (std::vector<uint64_t>{100, 80, 60, 40, 20}));
  for (uint32_t learners = 1; learners <= 30; ++learners) {
    for (uint64_t extra : {0u, 1u, 7u, 100u}) {
      uint64_t total = learners * (learners + 1) / 2 + extra;
      Partition partition = Make(Labels({total}), 1, learners, Settings("skewed", "iid"), 1);
      for (size_t k = 1; k < learners; ++k) {
        EXPECT_GT(partition.shares[k - 1].wanted, partition.shares[k].wanted);
      }
    }
  }
}

TEST(Partition, PowerLawSizesFollowTheExponent) {
  // k^-1 for k = 1 .. 4 is 12 : 6 : 4 : 3 of 25.
  EXPECT_EQ(Wanted(Make(Labels({150, 100}), 2, 4, Settings("powerlaw:1", "iid"), 1)),
            (std::vector<uint64_t>{120, 60, 40, 30}));
}

TEST(Partition, EveryLearnerGetsAnExampleHoweverSteepThePowerLaw) {
  EXPECT_EQ(Wanted(Make(Labels({6, 4}), 2, 5, Settings("powerlaw:50", "iid"), 1)),
            (std::vector<uint64_t>{6, 1, 1, 1, 1}));
}

TEST(Partition, IidHoldsEveryClassInProportionToWithinOne) {
  Random random({.seed = 5, .purpose = Purpose::kTest});
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<uint64_t> pools(1 + random.Below(12));
    for (uint64_t& pool : pools) pool = 1 + random.Below(200);
    std::vector<uint32_t> labels = Labels(pools, seed);
    auto learners = static_cast<uint32_t>(1 + random.Below(std::min<size_t>(labels.size(), 25)));
    for (const char* sizes : {"uniform", "skewed", "powerlaw"}) {
      auto classes = static_cast<uint32_t>(pools.size());
      Partition partition = Make(labels, classes, learners, Settings(sizes, "iid"), seed);
      EXPECT_EQ(partition.left_over, 0u);
      for (const Share& share : partition.shares) {
        for (size_t c = 0; c < pools.size(); ++c) {
          double exact = static_cast<double>(share.wanted) * static_cast<double>(pools[c]) /
                         static_cast<double>(labels.size());
          EXPECT_LT(std::abs(static_cast<double>(share.class_counts[c]) - exact), 1.0);
        }
      }
    }
  }
}

TEST(Partition, NonIidClassSetsAreExact) {
  std::vector<uint32_t> labels = Labels({60, 45, 30, 75, 50, 40, 61, 39, 52, 48});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (uint32_t x = 1; x <= 10; ++x) {
      for (const char* sizes : {"uniform", "skewed", "powerlaw"}) {
        PartitionSettings settings = Settings(sizes, "iid");
        settings.classes = ClassDistribution::kNonIid;
        settings.class_runs = {{x, 0}};
        for (const Share& share : Make(labels, 10, 7, settings, seed).shares) {
          EXPECT_EQ(ClassesHeld(share), std::min<uint64_t>(x, share.wanted)) << sizes << " " << x;
        }
      }
    }
  }
}

TEST(Partition, OneClassEachOfAsManyLearnersAsClassesLeavesNothingOver) {
  std::vector<uint32_t> labels = Labels(std::vector<uint64_t>(10, 50));
  Partition partition = Make(labels, 10, 10, Settings("uniform", "noniid:1"), 3);
  EXPECT_EQ(partition.left_over, 0u);
}

TEST(Partition, ThePapersPowerLawListsAreMetExactly) {
  std::vector<uint32_t> ten = Labels(std::vector<uint64_t>(10, 5000));
  std::vector<uint32_t> hundred = Labels(std::vector<uint64_t>(100, 500));
  struct Row {
    const char* classes;
    const std::vector<uint32_t>* labels;
    uint32_t all;
    std::vector<size_t> held;
  };
  const Row rows[] = {
      {"noniid:8x1,7x1,6x1,5x7", &ten, 10, {8, 7, 6, 5, 5, 5, 5, 5, 5, 5}},
      {"noniid:8x1,4x1,3x8", &ten, 10, {8, 4, 3, 3, 3, 3, 3, 3, 3, 3}},
      {"noniid:84x1,76x1,68x1,64x1,55x1,50x5",
       &hundred,
       100,
       {84, 76, 68, 64, 55, 50, 50, 50, 50, 50}},
  };
  for (const Row& row : rows) {
    for (uint64_t seed : {1u, 2u, 1990u}) {
      Partition partition = Make(*row.labels, row.all, 10, Settings("powerlaw", row.classes), seed);
      std::vector<size_t> held;
      for (const Share& share : partition.shares) held.push_back(ClassesHeld(share));
      EXPECT_EQ(held, row.held) << row.classes;
      EXPECT_EQ(partition.shortfall, 0u) << row.classes << ", seed " << seed;
    }
  }
}

TEST(Partition, ShortfallAndLeftOverAreReported) {
  // The largest wants 60 of 120 examples, but its one class has 40 at most.
  Partition partition = Make(Labels({40, 40, 40}), 3, 3, Settings("skewed", "noniid:1"), 4);
  EXPECT_EQ(Wanted(partition), (std::vector<uint64_t>{60, 40, 20}));
  EXPECT_EQ(partition.shares[0].examples.size(), 40u);
  EXPECT_EQ(partition.shortfall, 20u);
  EXPECT_EQ(partition.left_over, 20u);
}

TEST(Partition, ALearnerTakesMoreOfItsOtherClassesWhereAPoolRunsDry) {
  // Each of two learners holds both classes; 20 of the rare one cannot be half of either share.
  Partition partition = Make(Labels({180, 20}), 2, 2, Settings("uniform", "noniid:2"), 4);
  EXPECT_EQ(partition.shortfall, 0u);
  for (const Share& share : partition.shares) {
    EXPECT_EQ(share.class_counts, (std::vector<uint64_t>{90, 10}));
  }
}

TEST(Partition, DrawnClassSetsLeaveNothingOverWhereSizesAreUniform) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<uint32_t> labels = Labels(std::vector<uint64_t>(10, 100));
    for (const char* classes : {"noniid:2", "noniid:3", "noniid:5"}) {
      EXPECT_EQ(Make(labels, 10, 10, Settings("uniform", classes), seed).shortfall, 0u) << classes;
    }
  }
}

TEST(Partition, DirichletMeetsEverySizeAndAlphaDecidesHowEven) {
  std::vector<uint32_t> labels = Labels({150, 210, 190, 160, 240, 50});
  auto largest_share = [&](const char* classes) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Partition partition = Make(labels, 6, 8, Settings("skewed", classes), seed);
      EXPECT_EQ(partition.shortfall, 0u);
      for (const Share& share : partition.shares) {
        sum += static_cast<double>(*std::ranges::max_element(share.class_counts)) /
               static_cast<double>(share.examples.size());
      }
    }
    return sum / (20 * 8);
  };
  double concentrated = largest_share("dirichlet:0.05");
  double middle = largest_share("dirichlet:0.5");
  double even = largest_share("dirichlet:1000");
  EXPECT_GT(concentrated, middle + 0.1);
  EXPECT_GT(middle, even + 0.1);
  EXPECT_LT(even, 0.3);
  Make(labels, 6, 8, Settings("skewed", "dirichlet:0.001"), 1);
}

TEST(Partition, SameSeedSamePartitionAnotherSeedAnother) {
  std::vector<uint32_t> labels = Labels({60, 45, 30, 75, 50});
  for (const char* classes : {"iid", "noniid:2", "dirichlet:0.5"}) {
    PartitionSettings settings = Settings("skewed", classes);
    auto examples = [&](uint64_t seed) {
      std::vector<std::vector<uint32_t>> all;
      for (Share& share : Make(labels, 5, 4, settings, seed).shares) all.push_back(share.examples);
      return all;
    };
    EXPECT_EQ(examples(11), examples(11)) << classes;
    EXPECT_NE(examples(11), examples(12)) << classes;
  }
}

TEST(Partition, ClassesWithoutExamplesAreNeverHeld) {
  std::vector<uint32_t> labels = Labels({60, 0, 30, 0, 50});
  for (const char* classes : {"iid", "noniid:3", "dirichlet:0.5"}) {
    for (const Share& share : Make(labels, 5, 4, Settings("skewed", classes), 2).shares) {
      EXPECT_EQ(share.class_counts[1] + share.class_counts[3], 0u) << classes;
    }
  }
}

std::string ErrorOf(const std::vector<uint32_t>& labels, uint32_t classes, uint32_t learners,
                    const PartitionSettings& settings) {
  Result<Partition> partition = MakePartition(labels, classes, learners, settings, 1);
  return partition ? "" : partition.error().message;
}

TEST(Partition, ErrorsCarryTheValueAndTheWayOut) {
  std::vector<uint32_t> labels = Labels({20, 20, 20});
  EXPECT_THAT(ErrorOf(labels, 3, 0, {}), HasSubstr("at least 1 learner"));
  EXPECT_THAT(ErrorOf(labels, 3, 61, {}), HasSubstr("60 examples cannot be dealt to 61 learners"));
  EXPECT_THAT(ErrorOf(labels, 2, 5, {}), HasSubstr("has label 2, the data set has 2 classes"));
  EXPECT_THAT(ErrorOf(labels, 3, 5, Settings("uniform", "noniid:4")),
              HasSubstr("asks for 4 classes a learner, the data hold 3: ask for 1 to 3"));
  EXPECT_THAT(ErrorOf(labels, 3, 5, Settings("uniform", "noniid:2x3,1x1")),
              HasSubstr("\"noniid:2x3,1x1\" does not add up to 5 learners"));
  EXPECT_THAT(ErrorOf(labels, 3, 5, Settings("uniform", "noniid:2x3,1x4")),
              HasSubstr("does not add up to 5 learners"));
  EXPECT_THAT(ErrorOf(labels, 3, 3, Settings("uniform", "noniid:2x3,1")),
              HasSubstr("does not add up to 3 learners"));
  EXPECT_THAT(ErrorOf(Labels({20, 1, 1}), 3, 4, Settings("uniform", "noniid:3")),
              HasSubstr("learner 1 is to hold 3 classes, but only 1 of 3"));
  PartitionSettings settings = Settings("powerlaw", "iid");
  settings.powerlaw_exponent = -1;
  EXPECT_THAT(ErrorOf(labels, 3, 5, settings), HasSubstr("exponent is -1: must be above 0"));
  settings = Settings("uniform", "dirichlet:1");
  settings.dirichlet_alpha = 0;
  EXPECT_THAT(ErrorOf(labels, 3, 5, settings), HasSubstr("alpha is 0: must be from 0.001"));
  settings.classes = ClassDistribution::kNonIid;
  settings.dirichlet_alpha = 1;
  EXPECT_THAT(ErrorOf(labels, 3, 5, settings), HasSubstr("does not add up to 5 learners"));
}

TEST(PartitionText, WhatIsFormattedReadsBackEqual) {
  for (const char* sizes : {"uniform", "skewed", "powerlaw", "powerlaw:1.2", "powerlaw:0.1"}) {
    for (const char* classes :
         {"iid", "noniid:3", "noniid:8x1,4x1,3x8", "noniid:8x1,3", "dirichlet:0.5",
          "dirichlet:0.001", "dirichlet:1e+06", "table:some dir/a,b:c.csv", "writers"}) {
      PartitionSettings settings = Settings(sizes, classes);
      EXPECT_EQ(Settings(FormatSizes(settings), FormatClasses(settings)), settings);
      EXPECT_EQ(FormatClasses(settings), classes);
    }
  }
  EXPECT_EQ(FormatSizes(Settings("powerlaw", "iid")), "powerlaw:1.5");
  EXPECT_EQ(Settings("uniform", "noniid:8x1,4x1,3x8").class_runs,
            (std::vector<ClassRun>{{8, 1}, {4, 1}, {3, 8}}));
}

TEST(PartitionText, BadTextIsAnErrorThatLeavesTheSettingsAlone) {
  PartitionSettings before = Settings("powerlaw:1.2", "noniid:8x1,3");
  PartitionSettings settings = before;
  for (const char* text : {"", "unifrom", "uniform:1", "skewed:", "powerlaw:", "powerlaw:0",
                           "powerlaw:-1", "powerlaw:nan", "powerlaw:inf", "powerlaw:1.5x"}) {
    Result<void> read = ParseSizes(text, settings);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(std::string("\"") + text + "\""));
    EXPECT_THAT(read.error().message, HasSubstr("write \"uniform\""));
  }
  for (const char* text : {"",
                           "idd",
                           "iid:3",
                           "noniid",
                           "noniid:",
                           "noniid:0",
                           "noniid:-3",
                           "noniid:3x0",
                           "noniid:3x",
                           "noniid:x3",
                           "noniid:3,",
                           "noniid:3,4x1",
                           "noniid:99999999999",
                           "noniid:3 x 2",
                           "dirichlet",
                           "dirichlet:",
                           "dirichlet:0",
                           "dirichlet:inf",
                           "dirichlet:1e-300",
                           "table",
                           "table:"}) {
    Result<void> read = ParseClasses(text, settings);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(std::string("\"") + text + "\""));
    EXPECT_THAT(read.error().message, HasSubstr("write \"iid\""));
  }
  EXPECT_EQ(settings, before);
  EXPECT_THAT(ParseSizes("unifrom", settings).error().message,
              HasSubstr("did you mean \"uniform\"?"));
}

TEST(StratifiedSplit, TakesTheFractionOfEachClassAndAtLeastOneOfTwo) {
  std::vector<uint32_t> labels = Labels({200, 3, 1, 0, 61, 2});
  std::vector<uint32_t> examples(labels.size());
  std::iota(examples.begin(), examples.end(), 0u);
  Split split = StratifiedSplit(examples, labels, 6, 0.05, 1990, 3);
  std::vector<uint64_t> counts(6);
  for (uint32_t example : split.validation) ++counts[labels[example]];
  EXPECT_EQ(counts, (std::vector<uint64_t>{10, 1, 0, 0, 3, 1}));
  EXPECT_TRUE(std::is_sorted(split.training.begin(), split.training.end()));
  EXPECT_TRUE(std::is_sorted(split.validation.begin(), split.validation.end()));
  std::vector<uint32_t> all;
  std::ranges::set_union(split.training, split.validation, std::back_inserter(all));
  EXPECT_EQ(all, examples);  // and disjoint, as sizes add up:
  EXPECT_EQ(split.training.size() + split.validation.size(), examples.size());
}

TEST(StratifiedSplit, NeverTakesAllOfAClass) {
  std::vector<uint32_t> labels = Labels({2, 5, 9});
  std::vector<uint32_t> examples(labels.size());
  std::iota(examples.begin(), examples.end(), 0u);
  Split split = StratifiedSplit(examples, labels, 3, 0.99, 1990, 3);
  std::vector<uint64_t> counts(3);
  for (uint32_t example : split.training) ++counts[labels[example]];
  EXPECT_EQ(counts, (std::vector<uint64_t>{1, 1, 1}));
}

TEST(StratifiedSplit, IsAFunctionOfSeedAndLearner) {
  std::vector<uint32_t> labels = Labels({80, 70, 50});
  std::vector<uint32_t> examples;  // some of them, not in order: the parts keep it
  for (uint32_t i = 150; i > 20; i -= 2) examples.push_back(i);
  Split split = StratifiedSplit(examples, labels, 3, 0.3, 1, 2);
  EXPECT_EQ(StratifiedSplit(examples, labels, 3, 0.3, 1, 2).validation, split.validation);
  EXPECT_NE(StratifiedSplit(examples, labels, 3, 0.3, 1, 3).validation, split.validation);
  EXPECT_NE(StratifiedSplit(examples, labels, 3, 0.3, 2, 2).validation, split.validation);
  EXPECT_TRUE(std::is_sorted(split.validation.rbegin(), split.validation.rend()));
}

}  // namespace
}  // namespace metis::data
