#include "metis/drawing/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "metis/drawing/legend.h"

namespace metis::drawing {
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

TEST(Svg, RoundsUpToOneTwoAndFive) {
  EXPECT_DOUBLE_EQ(RoundedUp(1), 1);
  EXPECT_DOUBLE_EQ(RoundedUp(1.01), 2);
  EXPECT_DOUBLE_EQ(RoundedUp(450), 500);
  EXPECT_DOUBLE_EQ(RoundedUp(501), 1000);
  EXPECT_DOUBLE_EQ(RoundedUp(0.03), 0.05);
}

TEST(Svg, CutsWhatIsTooWideBetweenCharacters) {
  EXPECT_EQ(Fitting("short", 100), "short");
  const std::string cut = Fitting("größter aller größten Namen", 60);
  EXPECT_THAT(cut, testing::EndsWith("…"));
  EXPECT_LE(WidthOfWords(cut), 60);
  for (double width = 0; width < 200; width += 5) {
    EXPECT_THAT(EscapeXml(Fitting("ö€😀ö€😀ö€😀", width)), Not(HasSubstr("?"))) << width;
  }
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

TEST(Svg, HasShadesWithTheirOwnInk) {
  constexpr std::array<Shade, 2> kShades = {
      {{"#fff", "#000", "#111", "#eee"}, {"#123", "#abc", "#fed", "#321"}}};
  Svg svg(100, 50, "shades", kShades);
  svg.Cell({0, 0, 10, 10}, 1, "tip");
  svg.Words(5, 5, "7", {.on_shade = 1});
  svg.Words(5, 6, "steep", {.turned = -90});
  const std::string text = std::move(svg).Finish();
  EXPECT_THAT(text, HasSubstr(".s1{fill:#123}.n1{fill:#fed}"));
  EXPECT_THAT(text, HasSubstr(".s1{fill:#abc}.n1{fill:#321}"));
  EXPECT_THAT(text, HasSubstr("<rect class=\"s1\""));
  EXPECT_THAT(text, HasSubstr("class=\"n1\" pointer-events=\"none\">7<"));
  EXPECT_THAT(text, HasSubstr("transform=\"rotate(-90 5 6)\">steep<"));
}

TEST(Svg, AGridLineHasItsValueBesideIt) {
  Svg svg(100, 100, "grid");
  svg.LineAcross({20, 10, 60, 50}, 30, "1.5");
  svg.LineDown({20, 10, 60, 50}, 40, "250");
  const std::string text = std::move(svg).Finish();
  EXPECT_THAT(text, HasSubstr("x1=\"20\" y1=\"30\" x2=\"80\" y2=\"30\""));
  EXPECT_THAT(text, HasSubstr("<text x=\"14\" y=\"34\" font-size=\"11\" text-anchor=\"end\""));
  EXPECT_THAT(text, HasSubstr("x1=\"40\" y1=\"10\" x2=\"40\" y2=\"60\""));
  EXPECT_THAT(text, HasSubstr("<text x=\"40\" y=\"75\" font-size=\"11\" text-anchor=\"middle\""));
}

TEST(Legend, BreaksIntoLinesUpToALimit) {
  const std::vector<Legend::Entry> entries = {
      {"one", "#111"}, {"another", "#222"}, {"the third", "#333"}};
  EXPECT_EQ(Legend(entries, 10, 1000).height(), 20);
  const Legend narrow(entries, 10, 150);
  EXPECT_EQ(narrow.height(), 40);
  Svg svg(200, 100, "legend");
  narrow.Draw(50, svg);
  const std::string text = std::move(svg).Finish();
  EXPECT_THAT(text, HasSubstr("<rect fill=\"#222\""));
  EXPECT_THAT(text, HasSubstr("<rect fill=\"#333\" x=\"10\" y=\"70\""));
  EXPECT_THAT(text, HasSubstr(">the third<"));
  const Legend too_long(entries, 10, 150, 1);
  EXPECT_TRUE(too_long.empty());
  EXPECT_EQ(too_long.height(), 0);
}

}  // namespace
}  // namespace metis::drawing
