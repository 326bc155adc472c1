#include "metis/experiment/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/experiment/testing.h"

namespace metis::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Results : public SmallExperiment {
 protected:
  // A complete run of the cell.
  void Leave(size_t row, size_t column, uint64_t offset, double accuracy) {
    LeaveRun(PlanOne(row, column, offset), true, 0.125, accuracy);
  }

  TableResult Collect() const {
    Result<TableResult> result = CollectResults(ReadTable(), {}, out());
    EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
    return *result;
  }
};

TEST(Figure, IsTheMeanWithTheDeviationOfTheSample) {
  Figure figure;
  EXPECT_EQ(figure.mean(), std::nullopt);
  figure.by_seed = {{1990, 0.5}};
  EXPECT_EQ(figure.mean(), 0.5);
  EXPECT_EQ(figure.deviation(), std::nullopt) << "one value has no spread";
  figure.by_seed = {{1990, 0.5}, {1991, 0.7}, {1992, 0.9}};
  EXPECT_DOUBLE_EQ(figure.mean().value(), 0.7);
  EXPECT_DOUBLE_EQ(figure.deviation().value(), 0.2);
  EXPECT_EQ(FormatFigure(figure), "0.7000 ± 0.2000");
}

TEST_F(Results, CountCompleteRunsOnly) {
  Leave(0, 0, 0, 0.875);
  Leave(0, 0, 1, 0.625);
  LeaveRun(PlanOne(0, 0, 2), false, 0.1, 0.1);
  const TableResult result = Collect();
  const CellResult& cell = result.cells[0][0];
  EXPECT_THAT(cell.figures[0].by_seed,
              ElementsAre(testing::Pair(1990, 0.875), testing::Pair(1991, 0.625)));
  EXPECT_THAT(cell.begun, ElementsAre(HasSubstr("seed-1992")));
  EXPECT_EQ(result.cells[0][1].figures[0].count(), 0u);
}

TEST_F(Results, LeaveOutRunsOfAnotherConfigurationAndSaySo) {
  Leave(0, 0, 0, 0.875);
  ChangeTable("\"40s\"", "\"50s\"");
  const TableResult result = Collect();
  EXPECT_EQ(result.cells[0][0].figures[0].count(), 0u);
  EXPECT_THAT(FormatMarkdown(result), HasSubstr("Left out: "));
}

TEST_F(Results, MarkTheBestOfEachRow) {
  Leave(0, 0, 0, 0.875);
  Leave(0, 1, 0, 0.625);
  Leave(1, 0, 0, 0.5);
  TableResult result = Collect();
  EXPECT_THAT(BestOfRow(result, 0, 0), ElementsAre(true, false));
  EXPECT_THAT(BestOfRow(result, 1, 0), ElementsAre(false, false)) << "alone, it beats nobody";
  Leave(1, 1, 0, 0.5);
  result = Collect();
  EXPECT_THAT(BestOfRow(result, 1, 0), ElementsAre(true, true));
}

TEST_F(Results, AreShownBesideThePapers) {
  Leave(0, 0, 0, 0.875);
  Leave(0, 0, 1, 0.625);
  Leave(0, 1, 0, 0.5625);
  const TableResult result = Collect();
  EXPECT_THAT(FormatMarkdown(result),
              HasSubstr("| Uniform, IID | **0.7500 ± 0.1768 (2)** (paper 0.9000) "
                        "| 0.5625 (1) (paper 0.8000) |\n"
                        "| Power Law, IID | - (paper 0.2500) | - (paper -) |\n"));
  EXPECT_THAT(FormatMarkdown(result), HasSubstr("in brackets the number of seeds"));
  EXPECT_THAT(FormatCsv(result),
              HasSubstr("uniform-iid,sync-fedavg,40s,0.9,0.75,0.1767766952966369,2,0.0\n"
                        "uniform-iid,async-dvw,40s,0.8,0.5625,,1,0.0\n"
                        "powerlaw-iid,sync-fedavg,40s,0.25,,,0,0.0\n"
                        "powerlaw-iid,async-dvw,40s,,,,0,0.0\n"));
  const report::Json json = FormatJson(result);
  EXPECT_EQ(json["rows"][0]["cells"][0]["measures"][0]["mean"], 0.75);
  EXPECT_EQ(json["rows"][0]["cells"][0]["measures"][0]["seeds"]["1991"], 0.625);
  EXPECT_TRUE(json["rows"][1]["cells"][1]["measures"][0]["paper"].is_null());
}

TEST_F(Results, NameFailuresAndDifferencesOfScale) {
  Result<TableResult> result = CollectResults(ReadTable(), {.data = 0.5, .time = 0.25}, out());
  ASSERT_TRUE(result.ok());
  result->cells[1][0].failures.push_back("powerlaw-iid/sync-fedavg, seed 1990: no data");
  const std::string text = FormatMarkdown(*result);
  EXPECT_THAT(text, HasSubstr("failed"));
  EXPECT_THAT(text, HasSubstr("Failed: powerlaw-iid/sync-fedavg, seed 1990: no data"));
  EXPECT_THAT(text, HasSubstr("Not at full scale: 3,000 of 6,000 training examples, "
                              "500 of 1,000 test examples, 5 s of 40 s; "));
  EXPECT_THAT(text, HasSubstr("What the paper takes at 40 s is taken at 5.0 s here."));
  // 3 batches of 100 ms an epoch instead of 6.
  EXPECT_THAT(text, HasSubstr("has time for 16 of 66 local epochs."));
  EXPECT_THAT(FormatMarkdown(Collect()), Not(HasSubstr("scale")));
}

TEST_F(Results, AreWrittenInThreeForms) {
  Leave(0, 0, 0, 0.875);
  ASSERT_TRUE(WriteTable(Collect(), out()).ok());
  for (const char* name : {"table.md", "table.json", "table.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out()) / "small/full" / name));
  }
}

// Tests at 10 s (version 2), 25 s (version 4) and, of the final model, at 40.01 s (version 5).
TEST(AccuracyAt, TakesTheLatestTestByThen) {
  const report::Json summary = {{"accuracy", {{"final", 0.75}}},
                                {"tests",
                                 {{{"t_s", 10.0}, {"version", 2}, {"accuracy", 0.25}},
                                  {{"t_s", 25.0}, {"version", 4}, {"accuracy", 0.5}},
                                  {{"t_s", 40.01}, {"version", 5}, {"accuracy", 0.75}}}}};
  const config::Config full =
      config::ParseConfig("[stop]\nduration = \"40s\"\n", "cell.toml").value();
  auto at_time = [&](int64_t seconds, const Scale& scale = {}) {
    Measure measure{.at = "", .label = "", .time = Duration::Seconds(seconds)};
    return AccuracyAt(summary, measure, full, scale);
  };
  auto at_round = [&](uint64_t rounds, const Scale& scale = {}) {
    Measure measure{.at = "", .label = "", .rounds = rounds};
    return AccuracyAt(summary, measure, full, scale);
  };
  EXPECT_EQ(at_time(9), std::nullopt) << "nothing was tested by then";
  EXPECT_EQ(at_time(10), 0.25);
  EXPECT_EQ(at_time(39), 0.5);
  EXPECT_EQ(at_time(40), 0.75) << "the end of the run, whose model is tested a moment later";
  EXPECT_EQ(at_time(39, {.data = 0.5}), 0.25);
  EXPECT_EQ(at_round(4), 0.5);
  EXPECT_EQ(at_round(5), 0.75);
  EXPECT_EQ(at_round(5, {.data = 0.5, .time = 0.5}), 0.25) << "2.5 rounds are 3";
  EXPECT_EQ(AccuracyAt({{"tests", "none"}}, {.at = "", .label = "", .rounds = 1}, full, {}),
            std::nullopt);
}

}  // namespace
}  // namespace metis::experiment
