#include "metis/core/display.h"

#include <gtest/gtest.h>

#include <string>

namespace metis {
namespace {

TEST(Display, BytesAreSaidInWords) {
  EXPECT_EQ(FormatBytes(0), "0 bytes");
  EXPECT_EQ(FormatBytes(999), "999 bytes");
  EXPECT_EQ(FormatBytes(1'520), "1.5 kB");
  EXPECT_EQ(FormatBytes(861'480), "861 kB");
  EXPECT_EQ(FormatBytes(4'273'192), "4.3 MB");
  EXPECT_EQ(FormatBytes(16'400'000'000), "16.4 GB");
}

TEST(Display, TimesAreSaidInWords) {
  EXPECT_EQ(FormatSeconds(0.04), "0.0 s");
  EXPECT_EQ(FormatSeconds(9.94), "9.9 s");
  EXPECT_EQ(FormatSeconds(42.4), "42 s");
  EXPECT_EQ(FormatSeconds(90), "1.5 min");
  EXPECT_EQ(FormatSeconds(5400), "1.5 h");
  EXPECT_EQ(FormatSeconds(36 * 3600), "1.5 d");
}

TEST(Display, DatesAreInUtc) {
  EXPECT_EQ(FormatUtc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatUtc(1'715'938'200), "2024-05-17T09:30:00Z");
}

TEST(Display, ControlCharactersAreShownAsQuestions) {
  EXPECT_EQ(Printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(Printable("Zürich"), "Zürich");
  EXPECT_EQ(Printable("a\u009b2Jb\xc2"), "a?2Jb\xc2") << "a control character of two bytes";
  EXPECT_EQ(PrintableLines("a\x1b\nb\n\tc\n"), "a?\nb\n?c\n");
  const std::string many(1'000'000, '\n');  // of a hostile peer
  EXPECT_EQ(PrintableLines(many), many);
}

}  // namespace
}  // namespace metis
