#include "metis/data/writer_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::HasSubstr;

// Examples in a drawn order, `sizes[w]` of writer w, of 5 classes.
struct Written {
  std::vector<uint32_t> labels;
  std::vector<uint32_t> writers;

  explicit Written(const std::vector<uint64_t>& sizes, uint64_t seed = 3) {
    writers = Labels(sizes, seed);
    Random random({.seed = seed, .cycle = 1, .purpose = Purpose::kTest});
    for (size_t i = 0; i < writers.size(); ++i) {
      labels.push_back(static_cast<uint32_t>(random.Below(5)));
    }
  }
};

std::vector<uint64_t> DrawSizes(size_t writers, uint64_t most, Random& random) {
  std::vector<uint64_t> sizes(writers);
  for (uint64_t& size : sizes) size = 1 + random.Below(most);
  return sizes;
}

std::vector<uint64_t> Got(const Partition& partition) {
  std::vector<uint64_t> sizes;
  for (const Share& share : partition.shares) sizes.push_back(share.examples.size());
  return sizes;
}

Partition MakeOfWriters(const Written& data, uint32_t learners, const char* sizes, uint64_t seed) {
  Result<Partition> partition =
      MakePartition(data.labels, 5, learners, Settings(sizes, "writers"), seed, data.writers);
  EXPECT_TRUE(partition) << partition.error().message;
  ExpectDealt(*partition, data.labels, 5);
  EXPECT_EQ(partition->left_over, 0u);
  const std::vector<uint64_t> got = Got(*partition), wanted = Wanted(*partition);
  EXPECT_TRUE(std::is_sorted(got.rbegin(), got.rend()));
  EXPECT_TRUE(std::is_sorted(wanted.rbegin(), wanted.rend()));
  EXPECT_EQ(std::accumulate(wanted.begin(), wanted.end(), uint64_t{0}), data.labels.size());
  std::map<uint32_t, size_t> learner_of;
  for (size_t k = 0; k < partition->shares.size(); ++k) {
    for (uint32_t example : partition->shares[k].examples) {
      auto [known, fresh] = learner_of.try_emplace(data.writers[example], k);
      EXPECT_EQ(known->second, k) << "writer " << known->first << " was split";
    }
  }
  return *std::move(partition);
}

TEST(WriterPartition, WholeWritersWhateverTheSizes) {
  Random random({.seed = 21, .purpose = Purpose::kTest});
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const size_t writers = 1 + random.Below(40);
    Written data(DrawSizes(writers, 50, random), seed);
    auto learners = static_cast<uint32_t>(1 + random.Below(writers));
    for (const char* sizes : {"uniform", "skewed", "powerlaw"})
      MakeOfWriters(data, learners, sizes, seed);
  }
}

TEST(WriterPartition, AsManyLearnersAsWritersAreOneWriterEach) {
  Written data({7, 31, 2, 16, 11, 1});
  for (const char* sizes : {"uniform", "skewed", "powerlaw"}) {
    Partition partition = MakeOfWriters(data, 6, sizes, 5);
    EXPECT_EQ(Got(partition), (std::vector<uint64_t>{31, 16, 11, 7, 2, 1})) << sizes;
  }
}

TEST(WriterPartition, SizesAreBalancedAsFarAsWholeWritersAllow) {
  Random random({.seed = 22, .purpose = Purpose::kTest});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Written data(DrawSizes(200, 300, random), seed);
    for (const char* sizes : {"uniform", "skewed", "powerlaw"}) {
      Partition partition = MakeOfWriters(data, 10, sizes, seed);
      for (const Share& share : partition.shares) {
        EXPECT_NEAR(static_cast<double>(share.examples.size()), static_cast<double>(share.wanted),
                    4)
            << sizes << ", seed " << seed;
      }
    }
  }
}

TEST(WriterPartition, AGiantWriterDoesNotUnbalanceTheOthers) {
  std::vector<uint64_t> sizes(60, 10);
  sizes[17] = 1000;
  Partition partition = MakeOfWriters(Written(sizes), 4, "uniform", 3);
  std::vector<uint64_t> got = Got(partition);
  EXPECT_EQ(got[0], 1000u);
  EXPECT_LE(got[1] - got[3], 10u);
  EXPECT_EQ(partition.shortfall, 1000 - partition.shares[0].wanted);
}

TEST(WriterPartition, SameSeedSamePartitionAnotherSeedAnother) {
  Random random({.seed = 23, .purpose = Purpose::kTest});
  Written data(DrawSizes(50, 100, random));
  auto examples = [&](uint64_t seed) {
    std::vector<std::vector<uint32_t>> all;
    for (Share& share : MakeOfWriters(data, 7, "skewed", seed).shares)
      all.push_back(share.examples);
    return all;
  };
  EXPECT_EQ(examples(11), examples(11));
  EXPECT_NE(examples(11), examples(12));
}

TEST(WriterPartition, ErrorsSayTheWayOut) {
  Written data({5, 9, 4});
  auto error = [&](uint32_t learners, std::span<const uint32_t> writers) {
    Result<Partition> partition =
        MakePartition(data.labels, 5, learners, Settings("uniform", "writers"), 1, writers);
    return partition ? "" : partition.error().message;
  };
  EXPECT_THAT(error(4, data.writers), HasSubstr("3 writers cannot be dealt to 4 learners, at least "
                                                "one each: use at most 3 learners"));
  EXPECT_THAT(error(2, {}), HasSubstr("needs to know who wrote each example"));
}

}  // namespace
}  // namespace metis::data
