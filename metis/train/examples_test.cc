#include "metis/train/examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "metis/train/testing.h"

namespace metis::train {
namespace {

// Two channels of 3x4 whose pixels are 0, 1, 2, ...: every value tells where it came from.
data::Dataset Numbered() {
  data::DatasetParts parts;
  parts.name = "numbered";
  parts.shape = {2, 3, 4};
  for (uint8_t i = 0; i < 48; ++i) parts.pixels.push_back(i);
  parts.labels = {1, 0};
  parts.classes = 2;
  return *data::Dataset::Make(std::move(parts));
}

std::vector<float> Prepared(const data::Dataset& set, uint32_t index,
                            const Preparation& preparation, const Placement& placement) {
  std::vector<float> out(size_t{preparation.height} * preparation.width * set.shape().channels,
                         -1.0F);
  Prepare(set, index, preparation, placement, out);
  for (float& value : out) value *= preparation.standardise ? 1 : 255;
  return out;
}

TEST(Prepare, PutsTheChannelsOfAPlaceSideBySide) {
  const data::Dataset set = Numbered();
  const std::vector<float> whole = Prepared(set, 1, {.height = 3, .width = 4}, {});
  EXPECT_FLOAT_EQ(whole[0], 24);  // second example, first channel, first pixel
  EXPECT_FLOAT_EQ(whole[1], 36);  // the same place in the second channel
  EXPECT_FLOAT_EQ(whole[2], 25);
  EXPECT_FLOAT_EQ(whole[23], 47);
}

TEST(Prepare, CropsAndMirrors) {
  const data::Dataset set = Numbered();
  const Preparation crop = {.height = 2, .width = 3};
  const std::vector<float> plain = Prepared(set, 0, crop, {.top = 1, .left = 1});
  const std::vector<float> mirrored = Prepared(set, 0, crop, {.top = 1, .left = 1, .flip = true});
  EXPECT_FLOAT_EQ(plain[0], 5);
  EXPECT_FLOAT_EQ(plain[4], 7);
  EXPECT_FLOAT_EQ(mirrored[0], 7);
  EXPECT_FLOAT_EQ(mirrored[4], 5);
  EXPECT_FLOAT_EQ(mirrored[6], 11);
}

TEST(Prepare, TheMarginIsZero) {
  const data::Dataset set = Numbered();
  const std::vector<float> shifted =
      Prepared(set, 0, {.height = 3, .width = 4, .margin = 2}, {.top = -1, .left = 2});
  EXPECT_FLOAT_EQ(shifted[0], 0);              // above the image
  EXPECT_FLOAT_EQ(shifted[4 * 2], 2);          // second row: first row of the image, from column 2
  EXPECT_FLOAT_EQ(shifted[4 * 2 + 2 * 2], 0);  // right of it
  EXPECT_FLOAT_EQ(shifted[(2 * 4 + 1) * 2], 7);  // third row, second column
}

TEST(Prepare, StandardisedImagesHaveMeanZeroAndDeviationOne) {
  const std::vector<float> out =
      Prepared(Numbered(), 0, {.height = 3, .width = 4, .standardise = true}, {});
  double sum = 0, squares = 0;
  for (float value : out) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(sum, 0, 1e-5);
  EXPECT_NEAR(squares / 24, 1, 1e-5);
}

TEST(Prepare, AnImageOfOneColourIsNoDivisionByZero) {
  data::DatasetParts parts;
  parts.name = "grey";
  parts.shape = {1, 2, 2};
  parts.pixels = {9, 9, 9, 9};
  parts.labels = {0};
  const data::Dataset set = *data::Dataset::Make(std::move(parts));
  for (float value : Prepared(set, 0, {.height = 2, .width = 2, .standardise = true}, {})) {
    EXPECT_FLOAT_EQ(value, 0);
  }
}

TEST(DrawPlacement, ReachesEveryPlaceOfTheMarginAndNoOther) {
  Random random({.seed = 5, .purpose = Purpose::kTest});
  std::set<int64_t> tops, lefts;
  int flips = 0;
  for (int i = 0; i < 2000; ++i) {
    const Placement placement =
        DrawPlacement({3, 8, 9}, {.height = 6, .width = 9, .margin = 1}, random);
    tops.insert(placement.top);
    lefts.insert(placement.left);
    flips += placement.flip ? 1 : 0;
  }
  EXPECT_EQ(tops, (std::set<int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(lefts, (std::set<int64_t>{-1, 0, 1}));
  EXPECT_GT(flips, 850);
  EXPECT_LT(flips, 1150);
}

TEST(Examples, CountTheLabelsThatTheirHolderBelievesIn) {
  auto set = Squares({1, 8, 8}, 4, 8);
  Examples examples = Examples::Of(set, {0, 1, 5});
  EXPECT_EQ(examples.labels, (std::vector<uint32_t>{0, 1, 1}));
  examples.labels = {3, 3, 3};
  EXPECT_EQ(examples.ClassCounts(), (std::vector<uint64_t>{0, 0, 0, 3}));
}

}  // namespace
}  // namespace metis::train
