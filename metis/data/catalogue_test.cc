#include "metis/data/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/data/sheet.h"
#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CatalogueFiles : public FileTest {
 protected:
  // Three images of 2x2 pixels of classes 1, 0, 1.
  void WriteIdx(std::string_view prefix) const {
    Write(Text(prefix, "images-idx3-ubyte"), Bytes{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,  0,  0,
                                                   0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    WriteGzipped(Text(prefix, "labels-idx1-ubyte.gz"), {0, 0, 8, 1, 0, 0, 0, 3, 1, 0, 1});
  }
};

TEST(Catalogue, EverySetHasFilesAndIsFoundByName) {
  for (const KnownSet& set : KnownSets()) {
    EXPECT_EQ(FindKnown(set.name), &set);
    for (Part part : kParts) {
      for (const std::string& name : FilesOf(set, part)) {
        EXPECT_EQ(OfficialName(set, name), name);
        EXPECT_EQ(OfficialName(set, name + ".gz"), name);
      }
    }
  }
  EXPECT_EQ(FindKnown("imagenet"), nullptr);
  EXPECT_EQ(OfficialName(*FindKnown("mnist"), "t10k-images.idx3-ubyte"), "t10k-images-idx3-ubyte");
  EXPECT_EQ(OfficialName(*FindKnown("mnist"), "train.bin"), "");
}

TEST(Catalogue, TheShapeOfExamplesIsKnownWithoutThem) {
  EXPECT_EQ(ShapeOf(*FindKnown("emnist-byclass")), (Shape{1, 28, 28}));
  EXPECT_EQ(ShapeOf(*FindKnown("cifar100")), (Shape{3, 32, 32}));
}

TEST_F(CatalogueFiles, ImagesAreReadWithWhatLiesBesideThem) {
  WriteIdx("mine-");
  Write("mine-writers.txt", "ann\nbob\nbob\n");
  Result<Dataset> set = LoadFile(Path("mine-images-idx3-ubyte"));
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->class_counts(), ElementsAre(1, 2));
  EXPECT_THAT(set->writers(), ElementsAre(0, 1, 1));
  EXPECT_THAT(set->Pixels(0), ElementsAre(1, 2, 3, 4));
  WriteIdx("emnist-mine-");
  set = LoadFile(Path("emnist-mine-images-idx3-ubyte"));
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->Pixels(0), ElementsAre(1, 3, 2, 4));
}

TEST_F(CatalogueFiles, AFileOfAnotherKindIsRefusedWithTheKnownOnes) {
  Result<Dataset> set = LoadFile(Write("data.txt", "1,2\n"));
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr(".npz, .csv, .bin (CIFAR)"));
  EXPECT_EQ(LoadFile(Path("absent.csv")).error().code, ErrorCode::kNotFound);
}

TEST_F(CatalogueFiles, AKnownSetMustHaveItsOfficialSize) {
  const KnownSet& mnist = *FindKnown("mnist");
  WriteIdx("train-");
  EXPECT_FALSE(IsComplete(mnist, directory().string()));
  WriteIdx("t10k-");
  EXPECT_TRUE(IsComplete(mnist, directory().string()));
  Result<Dataset> set = LoadKnown(mnist, directory().string(), Part::kTest);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("mnist test has 10000 examples, these files have 3"));
}

TEST_F(CatalogueFiles, AContactSheetShowsOneRowAClass) {
  WriteIdx("mine-");
  Result<Dataset> set = LoadFile(Path("mine-images-idx3-ubyte"));
  ASSERT_TRUE(set);
  Result<Picture> picture = MakeContactSheet(*set, 2);
  ASSERT_TRUE(picture) << picture.error().message;
  EXPECT_EQ(picture->width, 7u);
  EXPECT_EQ(picture->height, 7u);
  auto pixel = [&](size_t y, size_t x) { return picture->pixels[y * 7 + x]; };
  EXPECT_EQ(pixel(1, 1), 5);    // class 0: its only example
  EXPECT_EQ(pixel(1, 4), 128);  // and nothing beside it
  EXPECT_EQ(pixel(4, 1), 1);
  EXPECT_EQ(pixel(5, 5), 12);
  EXPECT_TRUE(WritePng(*picture, Path("sheet.png")));
  Result<Picture> again = ReadPng(Path("sheet.png"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->width, 7u);
  EXPECT_EQ(again->pixels[(4 * 7 + 1) * 3], 1);
  Bytes cut = Slurp(Path("sheet.png"));
  for (size_t size = 0; size + 12 < cut.size(); ++size) {  // the last 12 bytes only say "end"
    EXPECT_FALSE(
        ReadPng(Write("cut.png", Bytes(cut.begin(), cut.begin() + static_cast<ptrdiff_t>(size)))));
  }
  EXPECT_FALSE(WritePng(*picture, Path("no/such/directory.png")));
}

}  // namespace
}  // namespace metis::data
