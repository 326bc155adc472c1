#include "metis/data/cifar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::HasSubstr;

class CifarFiles : public FileTest {
 protected:
  // One record for each entry of `labels`, its pixels 0, 1, 2, ... from its number on.
  static Bytes Records(const std::vector<Bytes>& labels) {
    Bytes bytes;
    for (size_t i = 0; i < labels.size(); ++i) {
      bytes.insert(bytes.end(), labels[i].begin(), labels[i].end());
      for (size_t p = 0; p < 3072; ++p) bytes.push_back(static_cast<uint8_t>(i + p));
    }
    return bytes;
  }
  std::string Refusal(const Bytes& bytes, CifarLabels labels) const {
    Result<Dataset> set = ReadCifar("cifar", {Write("batch.bin", bytes)}, labels);
    return set ? "read" : set.error().message;
  }
};

TEST_F(CifarFiles, BatchesFollowOneAnother) {
  std::string first = Write("data_batch_1.bin", Records({{9}, {0}, {9}}));
  std::string second = WriteGzipped("data_batch_2.bin.gz", Records({{4}, {9}}));
  Result<Dataset> set = ReadCifar("cifar10", {first, second}, CifarLabels::kTen);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->shape(), (Shape{3, 32, 32}));
  EXPECT_THAT(set->labels(), testing::ElementsAre(9, 0, 9, 4, 9));
  EXPECT_EQ(set->class_counts()[9], 3u);
  EXPECT_EQ(set->ClassName(4), "deer");
  EXPECT_EQ(set->Pixels(2)[0], 2);
  EXPECT_EQ(set->Pixels(4)[3071], static_cast<uint8_t>(1 + 3071));
}

TEST_F(CifarFiles, AHundredHasFineAndCoarseLabels) {
  std::string path = Write("train.bin", Records({{19, 99}, {0, 4}, {19, 41}}));
  Result<Dataset> fine = ReadCifar("cifar100", {path}, CifarLabels::kFine);
  Result<Dataset> coarse = ReadCifar("cifar100", {path}, CifarLabels::kCoarse);
  ASSERT_TRUE(fine && coarse);
  EXPECT_THAT(fine->labels(), testing::ElementsAre(99, 4, 41));
  EXPECT_THAT(coarse->labels(), testing::ElementsAre(19, 0, 19));
  EXPECT_EQ(fine->classes(), 100u);
  EXPECT_EQ(coarse->classes(), 20u);
}

TEST_F(CifarFiles, ClassNamesDiffer) {
  for (CifarLabels labels : {CifarLabels::kTen, CifarLabels::kFine, CifarLabels::kCoarse}) {
    const std::vector<std::string>& names = CifarClassNames(labels);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  }
  EXPECT_EQ(CifarClassNames(CifarLabels::kFine).size(), 100u);
}

TEST_F(CifarFiles, ErrorsNameFileAndOffset) {
  EXPECT_THAT(Refusal(Records({{3}, {10}}), CifarLabels::kTen),
              HasSubstr("batch.bin: offset 3073: label 10 of record 1, the classes are 0 to 9"));
  EXPECT_THAT(Refusal(Records({{3, 100}}), CifarLabels::kCoarse),
              HasSubstr("offset 1: fine label 100"));
  EXPECT_THAT(Refusal(Records({{20, 3}}), CifarLabels::kFine),
              HasSubstr("offset 0: coarse label 20"));
  EXPECT_THAT(Refusal({}, CifarLabels::kTen), HasSubstr("offset 0: the file ends within a label"));
}

TEST_F(CifarFiles, ATruncatedRecordIsRefused) {
  const Bytes whole = Records({{3}, {5}});
  for (size_t size : {1u, 2u, 1000u, 3072u, 3074u, 5000u, 6145u}) {
    EXPECT_THAT(Refusal(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)),
                        CifarLabels::kTen),
                HasSubstr("the file ends within"));
  }
}

TEST_F(CifarFiles, DamageIsNeverACrash) {
  auto read = [&](const Bytes& bytes) {
    return ReadCifar("cifar", {Write("damaged", bytes)}, CifarLabels::kFine);
  };
  ExpectSurvivesDamage(Records({{3, 8}, {5, 2}, {5, 1}}), 300, read);
  ExpectSurvivesDamage(Slurp(WriteGzipped("good.gz", Records({{3, 8}, {5, 2}}))), 300, read);
}

}  // namespace
}  // namespace metis::data
