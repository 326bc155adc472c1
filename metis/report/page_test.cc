#include "metis/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/report/run_files.h"
#include "metis/report/testing.h"

namespace metis::report {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPage =
    "<title>METIS_REPORT_TITLE</title><script id=\"metis-data\">METIS_REPORT_DATA</script>";

TEST(Page, DataCannotEndItsElement) {
  const Json data = {{"</script><script>alert(1)</script>", "<!-- \xe2\x80\xa8 \xe2\x80\xa9 é <"}};
  const std::string text = ScriptSafe(data);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, HasSubstr("\\u003c!-- \\u2028 \\u2029 é \\u003c"));
  EXPECT_EQ(Json::parse(text), data);
}

TEST(Page, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(Json::parse(ScriptSafe({{"name", "a\xff"}}))["name"], "a\xef\xbf\xbd");
}

TEST(Page, IsFilledWithTitleAndData) {
  EXPECT_EQ(FillPage(kPage, "a < b & METIS_REPORT_DATA", {{"x", 1}}).value(),
            "<title>a &lt; b &amp; METIS_REPORT_DATA</title>"
            "<script id=\"metis-data\">{\"x\":1}</script>");
  EXPECT_EQ(
      FillPage("METIS_REPORT_DATA METIS_REPORT_TITLE", "METIS_REPORT_DATA", "METIS_REPORT_TITLE")
          .value(),
      "\"METIS_REPORT_TITLE\" METIS_REPORT_DATA");
}

TEST(Page, ATemplateHasEachMarkerOnce) {
  EXPECT_THAT(FillPage("METIS_REPORT_TITLE", "", {}).error().message,
              HasSubstr("has no METIS_REPORT_DATA"));
  EXPECT_THAT(FillPage(std::string(kPage) + kPage, "", {}).error().message,
              HasSubstr("METIS_REPORT_TITLE more than once"));
}

using WritePageTest = HandmadeRuns;

TEST_F(WritePageTest, ReplacesAPageAndLeavesNothingElseBehind) {
  Write("report.html", "old and longer");
  ASSERT_TRUE(WritePage(PathOf("report.html"), "new").ok());
  EXPECT_EQ(ReadRunFile(PathOf("report.html")).value(), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(home_), fs::directory_iterator()), 1);
}

TEST_F(WritePageTest, RefusesADirectoryAFileOfARunAndAPlaceThatIsNotThere) {
  Write("run.html/summary.json", "{}");
  EXPECT_THAT(WritePage(PathOf("run.html"), "new").error().message, HasSubstr("is a directory"));
  EXPECT_THAT(WritePage(PathOf("run.html/summary.json"), "new").error().message,
              HasSubstr("must end in .html"));
  EXPECT_EQ(ReadRunFile(PathOf("run.html/summary.json")).value(), "{}");
  EXPECT_THAT(WritePage(PathOf("none/report.html"), "new").error().message,
              HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace metis::report
