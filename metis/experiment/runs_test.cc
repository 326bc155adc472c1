#include "metis/experiment/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/experiment/testing.h"

namespace metis::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

using Runs = SmallExperiment;

TEST_F(Runs, ArePlannedSeedBySeed) {
  Result<std::vector<ExperimentRun>> runs = PlanRuns(ReadTable(), {0, 1}, {1}, 2, {}, "out");
  ASSERT_TRUE(runs.ok());
  std::vector<std::string> directories;
  for (const ExperimentRun& run : *runs) directories.push_back(run.directory);
  EXPECT_THAT(directories, ElementsAre("out/small/full/uniform-iid/async-dvw/seed-1990",
                                       "out/small/full/powerlaw-iid/async-dvw/seed-1990",
                                       "out/small/full/uniform-iid/async-dvw/seed-1991",
                                       "out/small/full/powerlaw-iid/async-dvw/seed-1991"));
  EXPECT_EQ((*runs)[3].config.simulation.seed, 1991u);
}

TEST_F(Runs, AreCommandsOfMetisSimulate) {
  const ExperimentRun run = PlanOne(1, 0, 2, {.time = 0.5});
  EXPECT_THAT(run.ArgumentsToBegin(3),
              ElementsAre(run.directory + ".toml", "--out", run.directory, "--threads", "3"));
  EXPECT_THAT(run.ArgumentsToResume(3), ElementsAre("--resume", run.directory, "--threads", "3"));
  EXPECT_EQ(run.config.federation.stop.duration, Duration::Seconds(20));
  EXPECT_EQ(run.full.federation.stop.duration, Duration::Seconds(40));
}

TEST_F(Runs, AreBegunFromAFileWithEverySetting) {
  const ExperimentRun run = PlanOne(1, 0, 2, {.data = 0.5});
  ASSERT_TRUE(WriteSettings(ReadTable(), run).ok());
  Result<config::Config> written = config::ReadConfig(run.settings());
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(*written, run.config);
  EXPECT_EQ(written->simulation.seed, 1992u);
  EXPECT_EQ(written->federation.stop.duration, Duration::Seconds(20));
  EXPECT_TRUE(FormatSettings(ReadTable(), run)
                  .starts_with("# Small\n# Power Law, IID; SyncFedAvg; seed 1992\n\n"));
  EXPECT_EQ(Inspect(run).state, RunState::kNew) << "it lies beside the run, not in it";
}

TEST_F(Runs, RefuseACellOfAnotherPolicy) {
  ChangeTable("data.sizes = \"uniform\"", "federation.weighting = \"equal\"");
  Result<ExperimentRun> run = PlanRun(ReadTable(), 0, 1, 0, {}, "out");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("the policy of uniform-iid is custom, not async-dvw"));
}

TEST_F(Runs, AreNewWhereNothingIs) {
  const ExperimentRun run = PlanOne(0, 0);
  EXPECT_EQ(Inspect(run).state, RunState::kNew);
  fs::create_directories(run.directory);
  EXPECT_EQ(Inspect(run).state, RunState::kNew) << "an empty directory can be used";
  WriteText(fs::path(run.directory) / "lock", "4711");
  EXPECT_EQ(Inspect(run).state, RunState::kNew) << "of a run that was killed as it began";
  WriteText(fs::path(run.directory) / "events.jsonl", "");
  EXPECT_THAT(Inspect(run).difference, HasSubstr("holds a run that ended as it began"));
}

TEST_F(Runs, AreDoneOnceTheirSummaryIsComplete) {
  const ExperimentRun run = PlanOne(0, 0);
  LeaveRun(run, true, 0.5, 0.75);
  const Found found = Inspect(run);
  EXPECT_EQ(found.state, RunState::kDone);
  EXPECT_EQ(found.summary["accuracy"]["final"], 0.75);
}

TEST_F(Runs, GoOnIfTheyWereInterruptedOrCutOff) {
  const ExperimentRun run = PlanOne(0, 0);
  LeaveRun(run, false, 0.5, 0.75);
  EXPECT_EQ(Inspect(run).state, RunState::kBegun);
  WriteText(fs::path(run.directory) / "summary.json", "{\"complete\": tr");
  EXPECT_EQ(Inspect(run).state, RunState::kBegun) << "half a summary is none";
  fs::remove(fs::path(run.directory) / "summary.json");
  EXPECT_EQ(Inspect(run).state, RunState::kBegun);
}

TEST_F(Runs, AreNotMixedWithThoseOfAnotherConfiguration) {
  LeaveRun(PlanOne(0, 0), true, 0.5, 0.75);
  ChangeTable("\"40s\"", "\"50s\"");
  const ExperimentRun run = PlanOne(0, 0);
  const Found found = Inspect(run);
  EXPECT_EQ(found.state, RunState::kChanged);
  EXPECT_THAT(found.difference, HasSubstr(run.directory));
  EXPECT_THAT(found.difference,
              HasSubstr("[stop] duration = \"40s\" there, duration = \"50s\" here"));
  EXPECT_THAT(found.difference, HasSubstr("Choose another --out, or delete"));
}

TEST_F(Runs, LeaveOtherPeoplesFilesAlone) {
  const ExperimentRun run = PlanOne(0, 0);
  WriteText(fs::path(run.directory) / "letter.txt", "hello");
  EXPECT_EQ(Inspect(run).state, RunState::kChanged);
  WriteText(fs::path(run.directory) / "config.toml", "no toml");
  EXPECT_EQ(Inspect(run).state, RunState::kChanged);
}

TEST_F(Runs, AddUpTheirTimeOnTheWallsClock) {
  const ExperimentRun run = PlanOne(0, 0);
  LeaveRun(run, true, 0.5, 0.75);
  EXPECT_EQ(Inspect(run).wall_s, 0);
  ASSERT_TRUE(AddWallTime(run, 1.5).ok());
  ASSERT_TRUE(AddWallTime(run, 2).ok());
  EXPECT_EQ(Inspect(run).wall_s, 3.5);
}

}  // namespace
}  // namespace metis::experiment
