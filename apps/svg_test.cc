#include "apps/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace metis::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Svg, EscapesMarkupAndWhatXmlCannotHold) {
  EXPECT_EQ(EscapeXml("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(EscapeXml("größe \u202f€ 😀"), "größe \u202f€ 😀");
  EXPECT_EQ(EscapeXml("\xff|\xc3|\xe2\x82|\xed\xa0\x80|\xef\xbf\xbf|\x01|\t"),
            "?|?|??|???|???|?|?");
}

TEST(Svg, ColoursOfClassesDiffer) {
  for (size_t classes : {2u, 10u, 20u, 62u, 100u}) {
    std::set<std::string> colours;
    for (size_t i = 0; i < classes; ++i) {
      const std::string colour = ClassColour(i, classes);
      EXPECT_THAT(colour, testing::MatchesRegex("#[0-9a-f]{6}"));
      colours.insert(colour);
    }
    EXPECT_EQ(colours.size(), classes);
  }
}

TEST(Svg, GroupsDigits) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1234567), "1\u202f234\u202f567");
}

TEST(Svg, IsOneDocumentWithoutOtherFiles) {
  Svg svg(100, 50.5, "a < b");
  svg.Rectangle({1, 2.345678, 3, 4}, "#fff", "tip & top", 0.25);
  svg.Outline({0, 0, 1, 1});
  svg.Line(0, 0, 1, 1);
  svg.Words(5, 6, "<word>", {.anchor = Svg::Anchor::kEnd, .bold = true, .muted = true});
  const std::string text = std::move(svg).Finish();
  EXPECT_THAT(text, HasSubstr("viewBox=\"0 0 100 50.5\""));
  EXPECT_THAT(text, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(text, HasSubstr("<rect fill=\"#fff\" fill-opacity=\"0.25\" x=\"1\" y=\"2.35\" "
                              "width=\"3\" height=\"4\"><title>tip &amp; top</title></rect>"));
  EXPECT_THAT(text,
              HasSubstr("text-anchor=\"end\" font-weight=\"600\" class=\"muted\">&lt;word&gt;"));
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(text, Not(HasSubstr("href")));
  EXPECT_THAT(text, testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace metis::apps
