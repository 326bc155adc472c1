#include "metis/data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void AppendBigEndian(Bytes& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<uint8_t>(value >> shift));
}

Bytes Idx(const std::vector<uint32_t>& lengths, const Bytes& content) {
  Bytes bytes = {0, 0, 8, static_cast<uint8_t>(lengths.size())};
  for (uint32_t length : lengths) AppendBigEndian(bytes, length);
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

// Seven images of 3x4 pixels 0, 1, 2, ...; one of class 0, two of class 3, four of class 1.
class IdxFiles : public FileTest {
 protected:
  IdxFiles() {
    Bytes pixels(7 * 12);
    std::iota(pixels.begin(), pixels.end(), uint8_t{0});
    images_ = Idx({7, 3, 4}, pixels);
    labels_ = Idx({7}, {1, 3, 1, 1, 0, 3, 1});
  }

  std::string Refusal(const Bytes& images, const Bytes& labels, IdxOptions options = {}) const {
    Result<Dataset> set = ReadIdx(Write("images", images), Write("labels", labels), options);
    return set ? "read" : set.error().message;
  }

  Bytes images_, labels_;
};

TEST_F(IdxFiles, PlainAndGzippedGiveTheSame) {
  Result<Dataset> plain = ReadIdx(Write("images", images_), Write("labels", labels_));
  ASSERT_TRUE(plain) << plain.error().message;
  Result<Dataset> zipped = ReadIdx(WriteGzipped("i.gz", images_), WriteGzipped("l.gz", labels_));
  ASSERT_TRUE(zipped) << zipped.error().message;
  for (const Dataset* set : {&*plain, &*zipped}) {
    EXPECT_EQ(set->shape(), (Shape{1, 3, 4}));
    EXPECT_THAT(set->class_counts(), ElementsAre(1, 4, 0, 2));
    EXPECT_THAT(set->labels(), ElementsAre(1, 3, 1, 1, 0, 3, 1));
    EXPECT_THAT(set->Pixels(6), ElementsAre(72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83));
  }
}

TEST_F(IdxFiles, TransposedImagesAreTurned) {
  IdxOptions options{.name = "turned", .transposed = true};
  Result<Dataset> set = ReadIdx(Write("images", images_), Write("labels", labels_), options);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->shape(), (Shape{1, 4, 3}));
  EXPECT_THAT(set->Pixels(1), ElementsAre(12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23));
}

TEST_F(IdxFiles, WritersComeOneALine) {
  std::string images = Write("images", images_), labels = Write("labels", labels_);
  Result<Dataset> set =
      ReadIdx(images, labels, {.writers = Write("writers", "ann\nbob\nann\ncy\nbob\nann\nann\n")});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->writers(), ElementsAre(0, 1, 0, 2, 1, 0, 0));
  EXPECT_THAT(set->writer_names(), ElementsAre("ann", "bob", "cy"));
  for (std::string_view wrong :
       {"ann\n", "a\nb\nc\nd\ne\nf\ng", "a\nb\n\nd\ne\nf\ng\n", "a\nb\nc\nd\ne\nf\ng\nh\n"}) {
    set = ReadIdx(images, labels, {.writers = Write("writers", wrong)});
    ASSERT_FALSE(set) << wrong;
    EXPECT_THAT(set.error().message, HasSubstr("writers: offset "));
  }
}

TEST_F(IdxFiles, ErrorsNameFileAndOffset) {
  EXPECT_THAT(Refusal(labels_, labels_),
              HasSubstr("images: offset 3: the file has 1 dimension(s)"));
  EXPECT_THAT(Refusal(images_, Idx({6}, Bytes(6))),
              HasSubstr("labels: offset 4: 6 labels for 7 images"));
  EXPECT_THAT(Refusal(images_, labels_, {.classes = 3}),
              HasSubstr("labels: offset 9: label 3 of example 1, the classes are 0 to 2"));
  Bytes longer = images_;
  longer.push_back(0);
  EXPECT_THAT(Refusal(longer, labels_), HasSubstr("images: offset 100: the data should end here"));
  Bytes floats = images_;
  floats[2] = 0x0d;
  EXPECT_THAT(Refusal(floats, labels_), HasSubstr("offset 2: the file holds floats"));
  EXPECT_THAT(Refusal({'P', 'K', 3, 4}, labels_), HasSubstr("offset 0: this is no IDX file"));
  Result<Dataset> absent = ReadIdx(Path("nothing"), Path("nothing"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(ReadIdx(directory().string(), directory().string()));
}

TEST_F(IdxFiles, EveryTruncationIsRefused) {
  std::string labels = Write("labels", labels_);
  for (size_t size = 0; size < images_.size(); ++size) {
    EXPECT_THAT(
        Refusal(Bytes(images_.begin(), images_.begin() + static_cast<ptrdiff_t>(size)), labels_),
        HasSubstr("images: offset "));
  }
  Bytes zipped = Slurp(WriteGzipped("whole.gz", images_));
  for (size_t size = 0; size < zipped.size(); ++size) {
    std::string cut =
        Write("cut.gz", Bytes(zipped.begin(), zipped.begin() + static_cast<ptrdiff_t>(size)));
    EXPECT_FALSE(ReadIdx(cut, labels)) << size << " bytes of " << zipped.size();
  }
}

TEST_F(IdxFiles, AForgedHeaderTakesNoMemory) {
  EXPECT_THAT(Refusal(Idx({1u << 30, 1024, 1024}, Bytes(12)), labels_),
              HasSubstr("the images would be 1125899906842624 bytes, but at most 12 can follow"));
  EXPECT_THAT(Refusal(Idx({7, 1u << 20, 1u << 20}, Bytes(12)), labels_), HasSubstr("offset 8"));
  Result<Dataset> zipped = ReadIdx(WriteGzipped("i.gz", Idx({1u << 30, 1024, 1024}, Bytes(12))),
                                   Write("labels", labels_));
  ASSERT_FALSE(zipped);
  EXPECT_THAT(zipped.error().message, HasSubstr("can follow"));
}

TEST_F(IdxFiles, DamageIsNeverACrash) {
  std::string images = Write("good", images_), labels = Write("labels", labels_);
  ExpectSurvivesDamage(images_, 1500, [&](const Bytes& bytes) {
    return ReadIdx(Write("damaged", bytes), labels, {.name = Path("damaged")});
  });
  ExpectSurvivesDamage(labels_, 1500, [&](const Bytes& bytes) {
    return ReadIdx(images, Write("damaged", bytes), {.name = Path("damaged"), .classes = 4});
  });
  ExpectSurvivesDamage(Slurp(WriteGzipped("i.gz", images_)), 1500, [&](const Bytes& bytes) {
    return ReadIdx(Write("damaged.gz", bytes), labels, {.name = Path("damaged")});
  });
}

TEST(FashionMnist, IsReadAsItIsInstalled) {
  const std::string directory = "/usr/share/datasets/fashion-mnist/";
  if (!std::filesystem::exists(directory)) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  Result<Dataset> train = ReadIdx(directory + "train-images-idx3-ubyte.gz",
                                  directory + "train-labels-idx1-ubyte.gz", {.classes = 10});
  ASSERT_TRUE(train) << train.error().message;
  EXPECT_EQ(train->shape(), (Shape{1, 28, 28}));
  EXPECT_EQ(train->class_counts(), std::vector<uint64_t>(10, 6000));
  EXPECT_NEAR(train->means()[0], 0.2860, 0.0001);
}

}  // namespace
}  // namespace metis::data
