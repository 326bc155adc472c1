// What tests share: for readers a directory of their own, writing files plain and gzipped, and
// damaging them; for partitions labels, settings and what always holds. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "metis/core/random.h"
#include "metis/core/result.h"
#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/data/dataset.h"
#include "metis/data/partition.h"

namespace metis::data {

using Bytes = std::vector<uint8_t>;

// With what is written into its directory.
class FileTest : public metis::FileTest {
 protected:
  std::string Write(std::string_view name, const Bytes& bytes) const {
    std::filesystem::remove(Path(name));  // some file systems flush a file that is overwritten
    std::ofstream file(Path(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(file.flush().good());
    return Path(name);
  }
  std::string Write(std::string_view name, std::string_view text) const {
    return Write(name, Bytes(text.begin(), text.end()));
  }
  std::string WriteGzipped(std::string_view name, const Bytes& bytes) const {
    gzFile file = gzopen(Path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return Path(name);
  }
  Bytes Slurp(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  // Whatever a few changed, lost or added bytes make of `good`, `read` returns: a data set that
  // holds together or an error that names a file, never a crash.
  void ExpectSurvivesDamage(const Bytes& good, int rounds,
                            const std::function<Result<Dataset>(const Bytes&)>& read) const {
    Random random({.seed = 11, .purpose = Purpose::kTest});
    int refused = 0;
    for (int round = 0; round < rounds; ++round) {
      Bytes bytes = good;
      for (uint64_t changes = 1 + random.Below(3); changes > 0 && !bytes.empty(); --changes) {
        // Half of the damage falls on the first bytes, where headers are.
        size_t at =
            random.Below(random.Chance(0.5) ? std::min<size_t>(bytes.size(), 64) : bytes.size());
        switch (random.Below(4)) {
          case 0:
            bytes[at] ^= static_cast<uint8_t>(1u << random.Below(8));
            break;
          case 1:
            bytes[at] = static_cast<uint8_t>(random.Next());
            break;
          case 2:
            bytes.resize(at);
            break;
          default:
            bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), 0xff);
            break;
        }
      }
      Result<Dataset> result = read(bytes);
      if (result) {
        EXPECT_GT(result->size(), 0u);
      } else {
        ++refused;
        EXPECT_NE(result.error().message.find(directory().string()), std::string::npos)
            << result.error().message;
      }
    }
    EXPECT_GT(refused, rounds / 10);
  }
};

// Labels in a drawn order, `pools[c]` of class c.
inline std::vector<uint32_t> Labels(const std::vector<uint64_t>& pools, uint64_t seed = 7) {
  std::vector<uint32_t> labels;
  for (uint32_t c = 0; c < pools.size(); ++c) labels.insert(labels.end(), pools[c], c);
  Random random({.seed = seed, .purpose = Purpose::kTest});
  random.Shuffle(std::span(labels));
  return labels;
}

inline PartitionSettings Settings(std::string_view sizes, std::string_view classes) {
  PartitionSettings settings;
  Result<void> read = ParseSizes(sizes, settings);
  EXPECT_TRUE(read) << read.error().message;
  read = ParseClasses(classes, settings);
  EXPECT_TRUE(read) << read.error().message;
  return settings;
}

inline std::vector<uint64_t> Wanted(const Partition& partition) {
  std::vector<uint64_t> sizes;
  for (const Share& share : partition.shares) sizes.push_back(share.wanted);
  return sizes;
}

// What holds for every partition: each example goes to one learner at most, each learner has one at
// least, and what is counted is right.
inline void ExpectDealt(const Partition& partition, const std::vector<uint32_t>& labels,
                        uint32_t classes) {
  std::set<uint32_t> seen;
  uint64_t short_of = 0;
  for (const Share& share : partition.shares) {
    EXPECT_TRUE(std::is_sorted(share.examples.begin(), share.examples.end()));
    EXPECT_GE(share.examples.size(), 1u);
    std::vector<uint64_t> counts(classes);
    for (uint32_t example : share.examples) {
      ASSERT_LT(example, labels.size());
      EXPECT_TRUE(seen.insert(example).second) << "example " << example << " was dealt twice";
      ++counts[labels[example]];
    }
    EXPECT_EQ(counts, share.class_counts);
    short_of += share.wanted - std::min<uint64_t>(share.wanted, share.examples.size());
  }
  EXPECT_EQ(seen.size() + partition.left_over, labels.size());
  EXPECT_EQ(short_of, partition.shortfall);
}

}  // namespace metis::data
