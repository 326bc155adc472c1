#include "metis/drawing/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/core/text.h"

namespace metis::drawing {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DrawConfusion, ShadesSharesOfARowAndWritesCounts) {
  const ConfusionCounts counts = ConfusionCounts::FromCounts(2, {7, 1, 0, 30}).value();
  const std::string text = DrawConfusion(counts, {"cat", "a & b"}, "pets on test.npz");
  EXPECT_THAT(text, HasSubstr("<title>pets on test.npz</title>"));
  EXPECT_THAT(text, HasSubstr("<title>cat taken for a &amp; b: 1 of 8 (12.5 %)</title>"));
  EXPECT_THAT(text, HasSubstr("class=\"n4\" pointer-events=\"none\">1<"));
  EXPECT_THAT(text, HasSubstr("class=\"n9\" pointer-events=\"none\">30<"));
  EXPECT_THAT(text, Not(HasSubstr("pointer-events=\"none\">0<"))) << "nothing was confused there";
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme:dark"));
}

TEST(DrawConfusion, OfManyClassesHasNoNumbersButTooltips) {
  ConfusionCounts counts(30);
  counts.Count(3, 4, 12);
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back(Text("class number ", i, " with a long name"));
  const std::string text = DrawConfusion(counts, names, "many");
  EXPECT_THAT(text, Not(HasSubstr(">12<")));
  EXPECT_THAT(text, HasSubstr("class number 3 with a long name taken for class number 4"));
  EXPECT_THAT(text, HasSubstr("rotate(-90"));
  EXPECT_THAT(text, HasSubstr(">class number 3 with")) << "cut, but readable";
}

}  // namespace
}  // namespace metis::drawing
