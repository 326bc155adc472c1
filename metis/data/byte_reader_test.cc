#include "metis/data/byte_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReadLinesTest : public FileTest {
 protected:
  std::vector<std::string> Lines(const std::string& path) {
    Result<ByteReader> file = ByteReader::Open(path);
    EXPECT_TRUE(file) << file.error().message;
    std::vector<std::string> lines;
    uint64_t offset = 0;
    Result<void> read = ReadLines(*file, [&](const TextLine& line) -> Result<void> {
      EXPECT_EQ(line.offset, offset);
      EXPECT_EQ(line.number, lines.size() + 1);
      offset += line.text.size() + 1;
      lines.push_back(std::string(line.text) + (line.ended ? "" : "|"));
      return {};
    });
    EXPECT_TRUE(read) << read.error().message;
    return lines;
  }
};

TEST_F(ReadLinesTest, GivesEveryLineWithItsNumberAndOffset) {
  EXPECT_THAT(Lines(Write("a", "one\n\nthree\r\n")), ElementsAre("one", "", "three\r"));
  EXPECT_THAT(Lines(Write("b", "one\ntwo")), ElementsAre("one", "two|"));
  EXPECT_THAT(Lines(Write("c", "")), ElementsAre());
  EXPECT_THAT(Lines(Write("d", "\n")), ElementsAre(""));
}

TEST_F(ReadLinesTest, LinesMayEndAnywhereAroundTheEndOfAChunk) {
  constexpr size_t kChunk = size_t{1} << 16;
  for (size_t length = kChunk - 3; length <= kChunk + 3; ++length) {
    std::string first(length, 'x');
    EXPECT_EQ(Lines(Write("long", first + "\nlast\n")), (std::vector<std::string>{first, "last"}));
    EXPECT_EQ(Lines(Write("long", first)), (std::vector<std::string>{first + "|"}));
  }
}

TEST_F(ReadLinesTest, TheFirstErrorEndsIt) {
  Result<ByteReader> file = ByteReader::Open(Write("a", "one\ntwo\nthree\n"));
  ASSERT_TRUE(file);
  size_t taken = 0;
  Result<void> read = ReadLines(*file, [&](const TextLine&) -> Result<void> {
    if (++taken == 2) return Invalid("two is enough");
    return {};
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "two is enough");
  EXPECT_EQ(taken, 2u);
}

TEST_F(ReadLinesTest, AFileWithoutEndsOfLineIsNoText) {
  Result<ByteReader> file = ByteReader::Open(Write("zeros", Bytes((size_t{1} << 26) + 100000)));
  ASSERT_TRUE(file);
  Result<void> read = ReadLines(*file, [](const TextLine&) -> Result<void> { return {}; });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("is this a text file?"));
}

}  // namespace
}  // namespace metis::data
