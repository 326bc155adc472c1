#include "metis/data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CsvFiles : public FileTest {
 protected:
  std::string Refusal(std::string_view text, CsvOptions options = {}) const {
    Result<Dataset> set = ReadCsv(Write("data.csv", text), options);
    return set ? "read" : set.error().message;
  }
};

TEST_F(CsvFiles, TheLastColumnIsTheLabel) {
  Result<Dataset> set = ReadCsv(Write("data.csv", "1,2.5,0\n-3e2,+4,2\n\n5,6,2"));
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->shape(), (Shape{1, 1, 2}));
  EXPECT_THAT(set->class_counts(), ElementsAre(1, 0, 2));
  EXPECT_THAT(set->Features(1), ElementsAre(-300, 4));
}

TEST_F(CsvFiles, AHeaderIsDetectedAndNamesTheLabel) {
  Bytes text;
  for (char c :
       std::string_view("\xef\xbb\xbf\"size\", kind ,\"weight\"\r\n1, 1, \"2\"\r\n3,0,4\r\n")) {
    text.push_back(static_cast<uint8_t>(c));
  }
  Result<Dataset> set = ReadCsv(WriteGzipped("data.csv.gz", text), {.label_column = "kind"});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->labels(), ElementsAre(1, 0));
  EXPECT_THAT(set->Features(0), ElementsAre(1, 2));
  EXPECT_THAT(set->Features(1), ElementsAre(3, 4));
}

TEST_F(CsvFiles, ErrorsNameLineAndColumn) {
  EXPECT_THAT(Refusal("1,2,0\n1,x,0\n"),
              HasSubstr("data.csv: line 2, column 2: \"x\" is not a finite number"));
  EXPECT_THAT(Refusal("1,2,0\n1,nan,0\n"), HasSubstr("line 2, column 2: \"nan\""));
  EXPECT_THAT(Refusal("1,2,0\n1,1e99,0\n"), HasSubstr("line 2, column 2: \"1e99\""));
  EXPECT_THAT(Refusal("1,2,0\n,2,0\n"), HasSubstr("line 2, column 1: the field is empty"));
  EXPECT_THAT(Refusal("1,2,0\n1,0\n"), HasSubstr("the line has 2 columns, the first line 3"));
  EXPECT_THAT(Refusal("a,b,c\n1,2,-1\n"), HasSubstr("line 2, column 3: label \"-1\""));
  EXPECT_THAT(Refusal("1,2,0.5\n"), HasSubstr("line 1, column 3: label \"0.5\""));
  EXPECT_THAT(Refusal("1,2,3\n", {.classes = 3}), HasSubstr("whole numbers from 0 to 2"));
  EXPECT_THAT(Refusal("1,\"2,3\n"), HasSubstr("line 1, column 2: the quote is not closed"));
  EXPECT_THAT(Refusal("1,2,3\n", {.label_column = "y"}), HasSubstr("the file has no header"));
  EXPECT_THAT(Refusal("a,b\n1,2\n", {.label_column = "y"}), HasSubstr("no column \"y\""));
  EXPECT_THAT(Refusal("a,b\n"), HasSubstr("no examples"));
  EXPECT_THAT(Refusal("7\n"), HasSubstr("at least one feature and a label"));
  EXPECT_THAT(Refusal(""), HasSubstr("no examples"));
}

TEST_F(CsvFiles, ManyLinesCrossTheBlocksOfReading) {
  std::string text = "first,second,label\n";
  for (int i = 0; i < 20000; ++i) text += Text(i, ",", -i, ",", i % 7 == 0 ? 1 : 0, "\n");
  Result<Dataset> set = ReadCsv(Write("data.csv", text));
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->class_counts(), ElementsAre(17142, 2858));
  EXPECT_THAT(set->Features(19999), ElementsAre(19999, -19999));
}

TEST_F(CsvFiles, DamageIsNeverACrash) {
  std::string_view text = "size,\"weight\",label\n1,2.25,0\n3,4,1\n5,6e2,3\n7,-8,1\n";
  ExpectSurvivesDamage(Bytes(text.begin(), text.end()), 1500,
                       [&](const Bytes& bytes) { return ReadCsv(Write("damaged.csv", bytes)); });
}

}  // namespace
}  // namespace metis::data
