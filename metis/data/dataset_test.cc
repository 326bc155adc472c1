#include "metis/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three examples of two channels, 1x2 pixels each, of classes 2, 0, 2.
DatasetParts Small() {
  DatasetParts parts;
  parts.name = "small";
  parts.shape = {2, 1, 2};
  parts.pixels = {255, 255, 0, 51, 255, 0, 0, 0, 0, 255, 51, 51};
  parts.labels = {2, 0, 2};
  return parts;
}

std::string Refusal(DatasetParts parts) {
  Result<Dataset> made = Dataset::Make(std::move(parts));
  return made ? "made" : made.error().message;
}

TEST(Dataset, CountsClassesAndAveragesChannels) {
  Result<Dataset> set = Dataset::Make(Small());
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->size(), 3u);
  EXPECT_EQ(set->classes(), 3u);
  EXPECT_THAT(set->class_counts(), ElementsAre(1, 0, 2));
  EXPECT_THAT(set->means(), ElementsAre(testing::DoubleEq(4.0 / 6), testing::DoubleEq(0.1)));
  EXPECT_THAT(set->Pixels(2), ElementsAre(0, 255, 51, 51));
  EXPECT_EQ(set->ClassName(2), "2");
}

TEST(Dataset, FeaturesKeepTheirScale) {
  DatasetParts parts = Small();
  parts.pixels.clear();
  parts.features = {1, 2, -3, 4, 5, 6, 7, 8, 9, 10, 11, -12};
  Result<Dataset> set = Dataset::Make(std::move(parts));
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_FALSE(set->has_pixels());
  EXPECT_THAT(set->Features(1), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(set->means(), ElementsAre(33.0 / 6, 15.0 / 6));
}

TEST(Dataset, TheFingerprintSeesValuesAndLabelsButNoNames) {
  auto fingerprint = [](const DatasetParts& parts) {
    return Dataset::Make(parts)->ContentFingerprint();
  };
  DatasetParts renamed = Small(), relabelled = Small(), repainted = Small();
  renamed.name = "other";
  relabelled.labels[1] = 1;
  repainted.pixels[11] ^= 1;
  EXPECT_EQ(fingerprint(renamed), fingerprint(Small()));
  EXPECT_NE(fingerprint(relabelled), fingerprint(Small()));
  EXPECT_NE(fingerprint(repainted), fingerprint(Small()));
}

TEST(Dataset, RefusesWhatDoesNotFitTogether) {
  DatasetParts parts = Small();
  parts.labels.push_back(1);
  EXPECT_THAT(Refusal(parts), HasSubstr("small: 12 values are not 4 examples of 2x1x2"));
  parts = Small();
  parts.classes = 2;
  EXPECT_THAT(Refusal(parts), HasSubstr("example 0 has label 2, the classes are 0 to 1"));
  parts = Small();
  parts.class_names = {"a", "b"};
  EXPECT_THAT(Refusal(parts), HasSubstr("2 class names for 3 classes"));
  parts = Small();
  parts.writers = {0, 1};
  EXPECT_THAT(Refusal(parts), HasSubstr("2 writers for 3 examples"));
  parts = Small();
  parts.labels[1] = 4'000'000'000;
  EXPECT_THAT(Refusal(parts), HasSubstr("label 4000000000"));
  parts = Small();
  parts.shape = {1u << 20, 1u << 20, 1u << 31};
  EXPECT_THAT(Refusal(parts), HasSubstr("examples of 1048576x1048576x2147483648"));
  EXPECT_THAT(Refusal({}), HasSubstr("no examples"));
}

TEST(Dataset, RefusesAFeatureThatIsNotFinite) {
  DatasetParts parts = Small();
  parts.pixels.clear();
  parts.features.assign(12, 0.5f);
  parts.features[6] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Refusal(parts), HasSubstr("example 1, feature 2"));
}

}  // namespace
}  // namespace metis::data
