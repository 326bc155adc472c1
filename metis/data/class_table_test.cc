#include "metis/data/class_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using Counts = std::vector<std::vector<uint64_t>>;

class ClassTableTest : public FileTest {
 protected:
  ClassTable Read(std::string_view text) {
    Result<ClassTable> table = ReadClassTable(Write("t.csv", text));
    EXPECT_TRUE(table) << table.error().message;
    return *std::move(table);
  }
  std::string ErrorOf(std::string_view text) {
    Result<ClassTable> table = ReadClassTable(Write("t.csv", text));
    return table ? "" : table.error().message;
  }
  PartitionSettings Ask(const Counts& counts) {
    PartitionSettings settings =
        Settings("uniform", "table:" + Write("t.csv", FormatClassTable({}, counts)));
    Result<void> read = ReadTable(settings);
    EXPECT_TRUE(read) << read.error().message;
    return settings;
  }
  Partition Make(const std::vector<uint32_t>& labels, uint32_t classes, const Counts& counts,
                 uint64_t seed = 1) {
    Result<Partition> partition =
        MakePartition(labels, classes, static_cast<uint32_t>(counts.size()), Ask(counts), seed);
    EXPECT_TRUE(partition) << partition.error().message;
    ExpectDealt(*partition, labels, classes);
    return *std::move(partition);
  }
};

Counts CountsOf(const Partition& partition) {
  Counts counts;
  for (const Share& share : partition.shares) counts.push_back(share.class_counts);
  return counts;
}

TEST_F(ClassTableTest, ReadsCountsWithAndWithoutHeaderAndLearners) {
  const Counts counts = {{3, 0, 12}, {1, 7, 0}};
  EXPECT_EQ(Read("3,0,12\n1,7,0\n").counts, counts);
  EXPECT_EQ(Read("\xef\xbb\xbf 3 ,\"0\",12\r\n\r\n1,7,0").counts, counts);
  ClassTable named = Read("cat,dog,\"fish, dried\"\n3,0,12\n1,7,0\n");
  EXPECT_EQ(named.counts, counts);
  EXPECT_THAT(named.titles, ElementsAre("cat", "dog", "fish, dried"));
  named = Read("learner,0,1,2\nnorth,3,0,12\nsouth,1,7,0\n");
  EXPECT_EQ(named.counts, counts);
  EXPECT_THAT(named.titles, ElementsAre("0", "1", "2"));
  Bytes text = {'5', ',', '6', '\n'};
  EXPECT_EQ(ReadClassTable(WriteGzipped("t.csv.gz", text))->counts, (Counts{{5, 6}}));
}

TEST_F(ClassTableTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(ErrorOf("1,2\n3,4,5\n"),
              HasSubstr("t.csv: line 2, column 3: the line has 3 columns"));
  EXPECT_THAT(ErrorOf("1,2\n3\n"), HasSubstr("t.csv: line 2, column 2: the line has 1 columns"));
  EXPECT_THAT(ErrorOf("1,2\n3,-4\n"), HasSubstr("t.csv: line 2, column 2: \"-4\": a number"));
  EXPECT_THAT(ErrorOf("1,-2\n"), HasSubstr("t.csv: line 1, column 2: \"-2\": a number"));
  EXPECT_THAT(ErrorOf("a,b\n\n3,four\n"), HasSubstr("line 3, column 2: \"four\": a number of"));
  EXPECT_THAT(ErrorOf("1,2.5\n"), HasSubstr("line 1, column 2: \"2.5\": a number"));
  EXPECT_THAT(ErrorOf("1,4294967296\n"), HasSubstr("from 0 to 4294967295 is needed"));
  EXPECT_THAT(ErrorOf("1,\n"), HasSubstr("line 1, column 2: the field is empty"));
  EXPECT_THAT(ErrorOf("learner,a,b\n0,1,2\n1,0,0\n"),
              HasSubstr("line 3, column 2: learner 1 would get no example of any class"));
  EXPECT_THAT(ErrorOf("learner\n0\n"), HasSubstr("line 1, column 2: the table has no column"));
  EXPECT_THAT(ErrorOf("a,b\n"), HasSubstr("the table has no learners"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("the table has no learners"));
  // A column of names without its title is no header that goes unseen.
  EXPECT_THAT(ErrorOf("north,1,2\nsouth,3,4\n"), HasSubstr("line 2, column 1: \"south\""));
  EXPECT_THAT(ReadClassTable(Path("absent.csv")).error().message, HasSubstr("no such file"));
}

// Law: whatever becomes of the bytes, there is a table that holds together or an error with a
// place.
TEST_F(ClassTableTest, DamageIsNeverMoreThanAnError) {
  const std::string good = "learner,cat,\"dog, big\",fish\n0,12,0,7\n1,300,4,5\n2,0,0,1\n";
  Random random({.seed = 31, .purpose = Purpose::kTest});
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    for (uint64_t changes = 1 + random.Below(3); changes > 0; --changes) {
      const size_t at = random.Below(text.size());
      if (random.Chance(0.3)) text.erase(at, 1 + random.Below(4));
      if (text.empty()) text = ",";
      text[at % text.size()] =
          random.Chance(0.5) ? static_cast<char>(random.Next()) : ",\"\n-"[random.Below(4)];
    }
    Result<ClassTable> table = ReadClassTable(Write("t.csv", text));
    if (!table) {
      EXPECT_THAT(table.error().message, HasSubstr("t.csv: "));
      continue;
    }
    ASSERT_FALSE(table->counts.empty());
    for (const std::vector<uint64_t>& row : table->counts) {
      EXPECT_EQ(row.size(), table->counts[0].size());
      EXPECT_GT(std::accumulate(row.begin(), row.end(), uint64_t{0}), 0u);
    }
  }
}

TEST_F(ClassTableTest, TitlesMustBeTheClassesAtTheirPlace) {
  DatasetParts parts;
  parts.name = "pets";
  parts.shape = {1, 1, 1};
  parts.features = {1, 2, 3};
  parts.labels = {0, 1, 2};
  parts.classes = 3;
  parts.class_names = {"cat", "dog", "say \"fish\""};
  Result<Dataset> set = Dataset::Make(std::move(parts));
  ASSERT_TRUE(set);
  EXPECT_TRUE(CheckTitles(Read("1,2,3\n"), *set));
  EXPECT_TRUE(CheckTitles(Read("learner,cat,1\n0,2,3\n"), *set));
  EXPECT_TRUE(CheckTitles(Read(FormatClassTable(set->class_names(), Counts{{1, 2, 3}})), *set));
  EXPECT_THAT(CheckTitles(Read("learner,dog,cat\n0,2,3\n"), *set).error().message,
              EndsWith("column 2 is headed \"dog\", but class 0 of pets is \"cat\": columns are in "
                       "the order of the classes"));
}

TEST_F(ClassTableTest, WhatIsFormattedReadsBackEqual) {
  const Counts counts = {{3, 0, 4294967295}, {1, 7, 0}};
  const std::vector<std::string> titles = {"T-shirt/top", "a, b", " c "};
  ClassTable table = Read(FormatClassTable(titles, counts));
  EXPECT_EQ(table.counts, counts);
  EXPECT_EQ(table.titles, titles);
  EXPECT_EQ(table.first_column, 1u);
}

TEST_F(ClassTableTest, EveryLearnerGetsExactlyItsRow) {
  std::vector<uint32_t> labels = Labels({60, 45, 30});
  const Counts counts = {{1, 0, 5}, {40, 45, 25}, {0, 0, 0}, {7, 0, 0}};
  const Counts rows = {counts[0], counts[1], counts[3]};
  Partition partition = Make(labels, 3, rows);
  EXPECT_EQ(CountsOf(partition), rows);
  EXPECT_EQ(Wanted(partition), (std::vector<uint64_t>{6, 110, 7}));  // in the table's order
  EXPECT_EQ(partition.shortfall, 0u);
  EXPECT_EQ(partition.left_over, 12u);
}

TEST_F(ClassTableTest, ClassesWithoutAColumnAreHeldByNobody) {
  Partition partition = Make(Labels({10, 20, 30}), 3, {{1, 2}, {3, 4}});
  EXPECT_EQ(CountsOf(partition), (Counts{{1, 2, 0}, {3, 4, 0}}));
  EXPECT_EQ(partition.left_over, 50u);
}

TEST_F(ClassTableTest, WhatThePoolsCannotGiveIsAShortfallSharedFairly) {
  // 90 of 45 examples of class 0 are asked for: half for each, and at least one.
  Partition partition = Make(Labels({45, 100}), 2, {{59, 10}, {30, 0}, {1, 20}});
  EXPECT_EQ(partition.shortfall, 45u);
  EXPECT_EQ(partition.left_over, 70u);
  EXPECT_NEAR(static_cast<double>(partition.shares[0].class_counts[0]), 29.5, 1);
  EXPECT_NEAR(static_cast<double>(partition.shares[1].class_counts[0]), 15, 1);
  EXPECT_EQ(partition.shares[2].class_counts, (std::vector<uint64_t>{1, 20}));
}

// Law: any partition, written as a table, deals the same numbers again.
TEST_F(ClassTableTest, ThePartitionsOwnTableGivesTheSameCounts) {
  std::vector<uint32_t> labels = Labels({60, 45, 30, 75, 0, 52});
  for (uint64_t seed = 0; seed < 15; ++seed) {
    for (const char* sizes : {"uniform", "skewed", "powerlaw"}) {
      for (const char* classes : {"iid", "noniid:1", "noniid:3", "dirichlet:0.1"}) {
        auto learners = static_cast<uint32_t>(2 + seed);
        Result<Partition> first =
            MakePartition(labels, 6, learners, Settings(sizes, classes), seed);
        ASSERT_TRUE(first) << first.error().message;
        Partition again = Make(labels, 6, CountsOf(*first), seed + 1);
        EXPECT_EQ(CountsOf(again), CountsOf(*first)) << sizes << " " << classes;
        EXPECT_EQ(again.shortfall, 0u);
        EXPECT_EQ(again.left_over, first->left_over);
      }
    }
  }
}

// Law: whatever is asked for, the most is given that the pools allow, and rows and cells are never
// exceeded.
TEST_F(ClassTableTest, AnyTableIsMetAsFarAsThePoolsGo) {
  Random random({.seed = 9, .purpose = Purpose::kTest});
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<uint64_t> pools(1 + random.Below(8));
    for (uint64_t& pool : pools) pool = 20 + random.Below(100);
    Counts counts(1 + random.Below(10), std::vector<uint64_t>(pools.size()));
    std::vector<uint64_t> asked(pools.size());
    for (std::vector<uint64_t>& row : counts) {
      for (uint64_t& cell : row) cell = random.Chance(0.5) ? 0 : random.Below(30);
      row[random.Below(row.size())] = 1 + random.Below(30);
      for (size_t c = 0; c < row.size(); ++c) asked[c] += row[c];
    }
    Partition partition =
        Make(Labels(pools, seed), static_cast<uint32_t>(pools.size()), counts, seed);
    uint64_t lacking = 0;
    for (size_t c = 0; c < pools.size(); ++c) lacking += asked[c] - std::min(asked[c], pools[c]);
    EXPECT_EQ(partition.shortfall, lacking);
    for (size_t k = 0; k < counts.size(); ++k) {
      for (size_t c = 0; c < pools.size(); ++c) {
        EXPECT_LE(partition.shares[k].class_counts[c], counts[k][c]);
        EXPECT_EQ(partition.shares[k].class_counts[c] > 0, counts[k][c] > 0);  // exact class sets
      }
    }
  }
}

TEST_F(ClassTableTest, TheSeedDecidesWhichExamples) {
  std::vector<uint32_t> labels = Labels({60, 45, 30});
  const Counts counts = {{10, 5, 0}, {20, 0, 9}};
  EXPECT_EQ(Make(labels, 3, counts, 1).shares[0].examples,
            Make(labels, 3, counts, 1).shares[0].examples);
  EXPECT_NE(Make(labels, 3, counts, 1).shares[0].examples,
            Make(labels, 3, counts, 2).shares[0].examples);
}

TEST_F(ClassTableTest, ATableThatDoesNotFitIsRefused) {
  std::vector<uint32_t> labels = Labels({20, 1, 0});
  auto error = [&](const PartitionSettings& settings, uint32_t learners) {
    Result<Partition> partition = MakePartition(labels, 3, learners, settings, 1);
    return partition ? "" : partition.error().message;
  };
  EXPECT_THAT(error(Ask({{1, 2}, {3, 4}}), 3), HasSubstr("t.csv: the table has 2 learners, not 3"));
  EXPECT_THAT(error(Ask({{1, 2, 0, 1}}), 1),
              HasSubstr("t.csv: column 5 is of class 3, but the data set has 3 classes"));
  EXPECT_THAT(error(Ask({{1, 0, 0}, {0, 0, 5}}), 2),
              HasSubstr("learner 1 asks for 5 examples and would get none"));
  EXPECT_THAT(error(Ask({{5, 1, 0}, {0, 3, 0}}), 2),
              HasSubstr("learner 1 asks for 3 examples and would get none"));
  PartitionSettings sized = Ask({{1, 2}});
  ASSERT_TRUE(ParseSizes("skewed", sized));
  EXPECT_THAT(error(sized, 1), HasSubstr("the table decides the sizes; leave sizes out"));
  EXPECT_FALSE(AsksEqualSizes(Ask({{1, 2}})));
}

}  // namespace
}  // namespace metis::data
