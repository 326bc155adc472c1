#include "metis/experiment/cache_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/experiment/testing.h"

namespace metis::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelPtr SomeModel(uint64_t parameters) {
  ModelPool pool(ModelSchema::Create({{"w", {parameters}}}).value());
  ModelDraft draft = pool.Draft();
  float value = 0;
  for (float& parameter : draft.parameters()) parameter = value += 0.01f;
  return std::move(draft).Seal();
}

CacheFigure SomeFigure() {
  return {.points = {{"resnet-cifar:20", 279'892, 10, 0.0005, 0.001},
                     {"resnet-cifar:20", 279'892, 1000, 0.0005, 0.1},
                     {"resnet-cifar:110", 1'744'852, 10, 0.002, 0.006}},
          .skipped = {"resnet50 with 1000 learners needs 96.3 GB of memory; 21.5 GB are free"},
          .repetitions = 3};
}

TEST(CacheFigure, MeasuresWhatFitsAndNamesWhatDoesNot) {
  CacheFigure figure;
  const uint64_t available = BytesNeeded(1000, 50) * 5 / 4;  // four fifths of it are used
  ASSERT_TRUE(MeasureCache("w", SomeModel(1000), {3, 50, 1000}, 2, available, figure).ok());
  ASSERT_EQ(figure.points.size(), 2u);
  EXPECT_EQ(figure.points[1].learners, 50u);
  EXPECT_EQ(figure.points[1].parameters, 1000u);
  EXPECT_GT(figure.points[0].with_s, 0);
  EXPECT_GT(figure.points[0].without_s, 0);
  EXPECT_THAT(figure.skipped, ElementsAre(HasSubstr("w with 1000 learners needs")));
}

TEST(CacheFigure, NeedsABufferForEachLearner) {
  EXPECT_EQ(BytesNeeded(1000, 101) - BytesNeeded(1000, 100), 4000u);
}

TEST(CacheFigure, TakesNumbersOfLearnersInOrder) {
  EXPECT_THAT(ParseLearners("100,10,100").value(), ElementsAre(10, 100));
  for (const char* wrong : {"", "0", "ten", "10x", "-1", "100001"}) {
    EXPECT_FALSE(ParseLearners(wrong).ok()) << wrong;
  }
}

TEST(CacheFigure, IsWrittenWithRatios) {
  EXPECT_THAT(FormatCsv(SomeFigure()), HasSubstr("resnet-cifar:110,1744852,10,0.002,0.006,3\n"));
  EXPECT_EQ(FormatJson(SomeFigure())["points"][1]["ratio"], 200.0);
}

TEST(CacheFigure, IsDrawnInTwoPanels) {
  const std::string svg = DrawSvg(SomeFigure());
  EXPECT_THAT(svg, HasSubstr(">with cache<"));
  EXPECT_THAT(svg, HasSubstr(">without cache<"));
  EXPECT_THAT(svg, HasSubstr("resnet-cifar:20, 1000 learners: 100 ms"));
}

}  // namespace
}  // namespace metis::experiment
