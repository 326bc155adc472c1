#include "metis/report/record_lines.h"

#include <gmock/gmock.h>

#include <vector>

#include "metis/core/testing.h"

namespace metis::report {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class RecordLinesTest : public FileTest {
 protected:
  RecordLines Open(const std::string& text) const {
    std::ofstream(Path("lines"), std::ios::binary) << text;
    return RecordLines::Open(Path("lines")).value();
  }
  static std::vector<std::string> All(RecordLines& lines) {
    std::vector<std::string> all;
    while (const std::string* line = lines.Next().value()) all.push_back(*line);
    return all;
  }
};

TEST_F(RecordLinesTest, AreThoseThatEnd) {
  RecordLines whole = Open("{}\n\n[1]\n");
  EXPECT_THAT(All(whole), ElementsAre("{}", "", "[1]"));
  EXPECT_FALSE(whole.torn());
  RecordLines torn = Open("{}\n{\"t_n");
  EXPECT_THAT(All(torn), ElementsAre("{}"));
  EXPECT_TRUE(torn.torn());
  RecordLines empty = Open("");
  EXPECT_THAT(All(empty), ElementsAre());
  EXPECT_FALSE(empty.torn());
}

TEST_F(RecordLinesTest, ErrorsNameFileAndLine) {
  RecordLines lines = Open("a\nb\nc\n");
  (void)lines.Next();
  (void)lines.Next();
  EXPECT_THAT(lines.Here(Invalid("it is b")).message, EndsWith("/lines:2: it is b"));
  const Result<RecordLines> absent = RecordLines::Open(Path("absent"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr("absent: No such file"));
}

TEST_F(RecordLinesTest, ADirectoryCannotBeRead) {
  Result<RecordLines> lines = RecordLines::Open(directory());
  if (!lines) return;
  EXPECT_FALSE(lines->Next());  // it can be opened here, but not read
}

TEST(ParseTimedLine, WantsAnObjectWithATime) {
  const TimedLine line = ParseTimedLine(R"({"t_ns": -7, "event": "left"})").value();
  EXPECT_EQ(line.time, Instant::FromNanoseconds(-7));
  EXPECT_EQ(line.json["event"], "left");
  const auto complaint = [](const char* text) { return ParseTimedLine(text).error().message; };
  EXPECT_THAT(complaint("{\"t_ns\": 7"), HasSubstr("cut off"));
  EXPECT_THAT(complaint("[7]"), HasSubstr("no JSON object"));
  EXPECT_THAT(complaint("{}"), HasSubstr("\"t_ns\" is missing"));
  EXPECT_THAT(complaint(R"({"t_ns": 18446744073709551615})"), HasSubstr("is no time"));
}

}  // namespace
}  // namespace metis::report
