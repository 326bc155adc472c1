#include "apps/experiment_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace metis::apps {
namespace {

using testing::HasSubstr;

TEST(ExperimentView, MarksTheBestAboveThePapersFigures) {
  experiment::TableResult result;
  result.table.title = "Small";
  result.table.columns = {{"sync-fedavg", "SyncFedAvg"}, {"async-dvw", "AsyncDVW(na)"}};
  result.table.rows = {{"uniform-iid", "Uniform, IID"}};
  result.table.measures = {{.at = "40s",
                            .label = "at 40 s",
                            .time = Duration::Seconds(40),
                            .paper = {{0.9, std::nullopt}}}};
  experiment::CellResult measured;
  measured.figures = {{.by_seed = {{1990, 0.875}, {1991, 0.625}}}};
  experiment::CellResult less;
  less.figures = {{.by_seed = {{1990, 0.5625}}}};
  result.cells = {{measured, less}};
  const std::string text = FormatText(result);
  EXPECT_THAT(text, HasSubstr("Uniform, IID  *0.7500 ± 0.1768 (2)    0.5625 (1)\n"));
  EXPECT_THAT(text, HasSubstr("  paper                     0.9000             -\n"));
  EXPECT_THAT(text, HasSubstr("in brackets the number of seeds"));
}

TEST(ExperimentView, ShowsTheCacheFigureAsATableWithRatios) {
  const experiment::CacheFigure figure{
      .points = {{"resnet-cifar:20", 279'892, 10, 0.0005, 0.001},
                 {"resnet-cifar:20", 279'892, 1000, 0.0005, 0.1}},
      .skipped = {"resnet50 with 1000 learners needs 96.3 GB of memory; 21.5 GB are free"},
      .repetitions = 3};
  const std::string text = FormatText(figure);
  EXPECT_THAT(text, HasSubstr("resnet-cifar:20     279,892      1000     0.50 ms   100 ms  200.0"));
  EXPECT_THAT(text, HasSubstr("Skipped: resnet50 with 1000 learners"));
}

}  // namespace
}  // namespace metis::apps
