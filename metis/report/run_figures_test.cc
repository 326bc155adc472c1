#include "metis/report/run_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/report/testing.h"

namespace metis::report {
namespace {

using testing::HasSubstr;

const std::string kConfig = Config("async-dvw", 42, "data.sizes = skewed\n");

class RunFiguresTest : public HandmadeRuns {
 protected:
  RunFigures Read(const std::string& directory) {
    Result<RunFigures> run = ReadRunFigures(directory, ReadFlat);
    EXPECT_TRUE(run.ok()) << run.error().message;
    return *std::move(run);
  }
  Json Data(const std::vector<std::string>& lines, const std::vector<double>& targets = {},
            const Thinning& thinning = {}) {
    return RunJson(Read(WriteRun("run", kConfig, lines)), targets, thinning);
  }
};

Json List(std::initializer_list<Json> values) { return Json(std::vector<Json>(values)); }

TEST_F(RunFiguresTest, SettingsGoWithoutTheSeed) {
  RunFigures run = Read(WriteRun("run", kConfig, {}));
  EXPECT_EQ(run.seed, 42u);
  EXPECT_EQ(run.policy, "async-dvw");
  EXPECT_EQ(run.settings,
            (FlatSettings{{"federation.policy", "async-dvw"}, {"data.sizes", "skewed"}}));
}

TEST_F(RunFiguresTest, ATestRecallsEachClassAndCountsTheRequestsCommittedByThen) {
  Json run = Data({Joined(0, "fast", 90), Tested(0.5, "[8,2,0,3,9,0,0,0,0]", "2.5"),
                   Committed(2, {Part(0, 1, 5)}), Committed(3, {Part(0, 2, 5)}),
                   Tested(4, "[9,1,0,0,12,0,0,0,0]", "\"nan\"")});
  EXPECT_EQ(run["tests"]["t_s"], List({0.5, 4.0}));
  EXPECT_EQ(run["tests"]["requests"], List({0, 2}));
  EXPECT_EQ(run["tests"]["accuracy"], List({17.0 / 22, 21.0 / 22}));
  EXPECT_EQ(run["tests"]["loss"], List({2.5, nullptr}));
  EXPECT_EQ(run["tests"]["class_accuracy"][0], List({0.8, 0.75, nullptr}));
  EXPECT_EQ(run["tests"]["class_accuracy"][1], List({0.9, 1.0, nullptr}));
  EXPECT_EQ(run["final_accuracy"], 21.0 / 22);
}

// As the controller has it: of two observers the first counts, and of a controller that was
// restored from an older copy only what it knows.
TEST_F(RunFiguresTest, ATestCountsOnceAndOnlyOfAVersionThatThereIs) {
  Json run = Data({Joined(0, "fast", 90), Tested(0.25, "[8,2,0,0]"), Tested(0.5, "[3,7,0,0]"),
                   Committed(2, {Part(0, 1, 5)}, 1), Tested(41, "[9,1,0,0]"),
                   Tested(1, "[10,5,0,0]"), TestRefused(1), Committed(2, {Part(0, 2, 5)}, 2),
                   Tested(2, "[7,3,0,0]"), Tested(2.5, "[1,9,0,0]")});
  EXPECT_EQ(run["tests"]["t_s"], List({0.25, 2.0}));
  EXPECT_EQ(run["tests"]["accuracy"], List({0.8, 0.7}));
  EXPECT_EQ(run["tests"]["class_accuracy"][1], List({0.7, nullptr}));
  EXPECT_EQ(run["best_accuracy"], 0.8);
}

TEST_F(RunFiguresTest, TimeToAnAccuracyIsThatOfTheFirstTestThatReachesIt) {
  Json run = Data(
      {Joined(0, "fast", 90), TestedTenths(0.5, 3), Committed(2, {Part(0, 1, 5)}),
       TestedTenths(3, 7), Committed(4, {Part(0, 2, 5)}), TestedTenths(5, 8), TestedTenths(6, 6)},
      {0.3, 0.7, 0.75, 0.9});
  EXPECT_EQ(run["time_to_accuracy_s"], List({0.5, 3.0, 5.0, nullptr}));
  EXPECT_EQ(run["requests_to_accuracy"], List({0, 1, 2, nullptr}));
  EXPECT_EQ(run["final_accuracy"], 0.6);
  EXPECT_EQ(run["best_accuracy"], 0.8);
}

TEST_F(RunFiguresTest, WithoutATestThereIsNoAccuracy) {
  Json run = Data({Joined(0, "fast", 90)}, {0.5});
  EXPECT_TRUE(run["final_accuracy"].is_null());
  EXPECT_TRUE(run["best_accuracy"].is_null());
  EXPECT_EQ(run["time_to_accuracy_s"], List({nullptr}));
}

TEST_F(RunFiguresTest, LearnersAreSummedUpAndAnObserverIsNone) {
  Json run = Data({Joined(1, "slow", 40), Joined(0, "fast", 90), Joined(9, "fast", 0, "observer"),
                   Committed(2, {Part(0, 1, 30, {.epochs = 3}), Part(1, 1, 7, {.epochs = 2})}),
                   Committed(3, {Part(0, 2, 10, {.epochs = 5})}),
                   Committed(4, {Part(0, 3, 12, {.epochs = 6})})});
  ASSERT_EQ(run["learners"].size(), 2u);
  const Json& first = run["learners"][0];
  EXPECT_EQ(first["name"], "learner-0");
  EXPECT_EQ(first["group"], "fast");
  EXPECT_EQ(first["training_examples"], 90);
  EXPECT_EQ(first["validation_examples"], 5);
  EXPECT_EQ(first["updates"], 3);
  EXPECT_EQ(first["epochs"], 14);
  EXPECT_EQ(first["median_staleness"], 12.0);
  EXPECT_TRUE(first["class_counts"].is_null());
  EXPECT_EQ(run["learners"][1]["epochs"], 2);
  EXPECT_EQ(run["requests"], 4);
}

TEST_F(RunFiguresTest, UpdatesAreColumnsInTheOrderOfCommits) {
  Json run = Data({Joined(0, "fast", 90), Joined(1, "slow", 40),
                   Committed(2.5, {Part(1, 1, 7, {.epochs = 2, .reason = "C3"}, 0.25)}),
                   Committed(4, {Part(0, 1, 30, {.epochs = 3}, 0.123456789)})});
  EXPECT_EQ(run["updates"], Json::parse(R"({"t_s": [2.5, 4.0], "learner": [1, 0],
      "contribution": [0.25, 0.123457], "staleness": [7, 30], "epochs": [2, 3],
      "reason": ["C3", "epochs"]})"));
}

TEST_F(RunFiguresTest, StalenessOfAGroupHasMedianMeanAndTheDeviationOfASample) {
  Json run = Data({Joined(0, "fast", 90), Joined(1, "slow", 40), Joined(2, "fast", 30),
                   Committed(2, {Part(2, 1, 30)}), Committed(3, {Part(0, 1, 4)}),
                   Committed(4, {Part(1, 1, 77)}), Committed(5, {Part(0, 2, 8)})});
  EXPECT_EQ(run["staleness"], Json::parse(R"([
      {"group": "fast", "values": [4.0, 8.0, 30.0], "median": 8.0, "mean": 14.0,
       "deviation": 14.0},
      {"group": "slow", "values": [77.0], "median": 77.0, "mean": 77.0, "deviation": null}])"));
}

TEST_F(RunFiguresTest, StalenessIsThatOfTheFirstTwentyCyclesOfEachLearner) {
  std::vector<std::string> lines = {Joined(0, "fast", 90), Joined(1, "fast", 40)};
  for (int i = 1; i <= 22; ++i) lines.push_back(Committed(i, {Part(0, i, 100 + i)}));
  lines.push_back(Committed(30, {Part(1, 1, 7)}));
  const Json values = Data(lines)["staleness"][0]["values"];
  ASSERT_EQ(values.size(), 21u);
  EXPECT_EQ(values[19], 120.0);
  EXPECT_EQ(values[20], 7.0);
}

TEST_F(RunFiguresTest, CyclesAreThoseOfTheFirstLearnerOfEachGroupAndEndWhenTheirUpdateArrives) {
  const Cycle cycle{.epochs = 2, .losses = "2.5,1.25,1.125", .reason = "C1", .staleness = 11};
  const Cycle other{.epochs = 1, .losses = "3,2", .reason = "C2", .staleness = 13};
  Json run = Data(
      {Joined(2, "fast", 20), Joined(1, "slow", 40), Joined(0, "fast", 90), Update(2, 0, 1, cycle),
       Update(3, 2, 1, other), Update(4, 1, 1, other), Rejected(4, 1, 1, "late"),
       Committed(4.5, {Part(2, 1, 97, other)}), Update(5, 1, 2, other),
       Committed(6, {Part(0, 1, 99, cycle), Part(1, 2, 98, other), Part(2, 2, 97, other)})});
  EXPECT_EQ(run["cycles"], Json::parse(R"([
      {"learner": 0, "group": "fast", "cycles": [{"end_s": 2.0, "losses": [2.5, 1.25, 1.125],
       "failures": 3, "reason": "C1", "staleness": 11}]},
      {"learner": 1, "group": "slow", "cycles": [{"end_s": 5.0, "losses": [3.0, 2.0],
       "failures": 3, "reason": "C2", "staleness": 13}]}])"));
}

TEST_F(RunFiguresTest, FortyCyclesAreShownAndNoneWithoutLosses) {
  std::vector<std::string> lines = {Joined(0, "fast", 90), Joined(1, "slow", 40)};
  for (int i = 1; i <= 43; ++i) {
    lines.push_back(Committed(i, {Part(0, i, 1, {.losses = "2,1"}), Part(1, i, 1)}));
  }
  const Json cycles = Data(lines)["cycles"];
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(cycles[0]["cycles"].size(), 40u);
  EXPECT_EQ(cycles[0]["cycles"][39]["end_s"], 40.0);
}

TEST_F(RunFiguresTest, ARunThatWasCutOffShowsItsWholeLines) {
  const std::string directory = WriteRun(
      "run", kConfig,
      {Joined(0, "fast", 90), Counts(1), Counts(1.5), Committed(2, {Part(0, 1, 5)}),
       Rejected(3, 0, 2, "late"), Rejected(3, 0, 3, "finished"), TestedTenths(4, 7), Counts(6.5)});
  std::ofstream(PathOf("run/events.jsonl"), std::ios::app) << TestedTenths(7, 9).substr(0, 60);
  Json run = RunJson(Read(directory), {}, {});
  EXPECT_EQ(run["complete"], false);
  EXPECT_TRUE(run["stopped_by"].is_null());
  EXPECT_TRUE(run["bytes_sent"].is_null());
  EXPECT_EQ(run["length_s"], 6.5);
  EXPECT_EQ(run["requests"], 1);
  EXPECT_EQ(run["rejected"], 1);
  EXPECT_EQ(run["models_for_evaluation"], 3);
  EXPECT_EQ(run["models_exchanged"], 5);
  EXPECT_EQ(run["final_accuracy"], 0.7);
}

TEST_F(RunFiguresTest, TheCountsOfASummaryWin) {
  WriteRun("run", kConfig, {Joined(0, "fast", 90), Counts(1), Committed(2, {Part(0, 1, 5)})});
  Write("run/summary.json",
        R"({"complete": true, "faults": true, "stopped_by": "rounds", "length_s": 12.5,
            "update_requests": 1, "updates_rejected": 4, "models_exchanged": 11,
            "models_for_evaluation": 9, "bytes_sent": 1234})");
  RunFigures run = Read(PathOf("run"));
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.stopped_by, "rounds");
  EXPECT_EQ(run.length_s, 12.5);
  EXPECT_EQ(run.rejected, 4u);
  EXPECT_EQ(run.models_exchanged, 11u);
  EXPECT_EQ(run.models_for_evaluation, 9u);
  EXPECT_EQ(run.bytes_sent, 1234u);
  EXPECT_EQ(run.settings["faults"], "injected");  // it is not in the configuration
}

TEST_F(RunFiguresTest, PartitionSaysWhoHoldsWhat) {
  WriteRun("run", kConfig, {Joined(0, "fast", 90), Joined(1, "slow", 40)});
  Write("run/partition.json",
        R"({"dataset": "d", "model": "m", "classes": 2, "learners": [
            {"learner": 1, "group": "slow", "class_counts": [3, 42], "faulty": "labels=random"},
            {"learner": 0, "group": "fast", "class_counts": [80, 15], "faulty": null}]})");
  Json learners = RunJson(Read(PathOf("run")), {}, {})["learners"];
  EXPECT_EQ(learners[0]["class_counts"], List({80, 15}));
  EXPECT_TRUE(learners[0]["faulty"].is_null());
  EXPECT_EQ(learners[1]["class_counts"], List({3, 42}));
  EXPECT_EQ(learners[1]["faulty"], "labels=random");
}

TEST_F(RunFiguresTest, LongColumnsAreThinnedAndSaySo) {
  std::vector<std::string> lines = {Joined(0, "fast", 90)};
  for (int i = 0; i < 45; ++i) lines.push_back(Committed(i, {Part(0, i + 1, i)}));
  for (int i = 0; i < 8; ++i) lines.push_back(TestedTenths(50 + i, i));
  Json run = Data(lines, {0.5}, {.most_updates = 20, .most_tests = 4});
  EXPECT_EQ(run["updates"]["thinned"], 3);
  ASSERT_EQ(run["updates"]["staleness"].size(), 15u);
  EXPECT_EQ(run["updates"]["staleness"][14], 42);
  EXPECT_EQ(run["tests"]["thinned"], 2);
  EXPECT_EQ(run["tests"]["t_s"], List({50.0, 52.0, 54.0, 56.0, 57.0}));  // and the last
  EXPECT_EQ(run["time_to_accuracy_s"], List({55.0}));  // of all tests, also those left out
  EXPECT_EQ(run["requests"], 45);
  EXPECT_FALSE(Data(lines)["updates"].contains("thinned"));
}

TEST_F(RunFiguresTest, ADamagedFileIsNamedWithItsLine) {
  auto refusal = [this](const std::vector<std::string>& lines) {
    Result<RunFigures> run = ReadRunFigures(WriteRun("run", kConfig, lines), ReadFlat);
    EXPECT_FALSE(run.ok());
    return run.ok() ? "" : run.error().message;
  };
  EXPECT_THAT(refusal({Joined(0, "fast", 90), "{broken"}), HasSubstr("events.jsonl:2: no JSON"));
  EXPECT_THAT(refusal({At(1, "\"event\":\"tested\",\"version\":1")}),
              HasSubstr("events.jsonl:1: field \"observer\" is missing"));
  WriteRun("run", kConfig, {});
  Write("run/summary.json", "{\"complete\": true}");
  EXPECT_THAT(ReadRunFigures(PathOf("run"), ReadFlat).error().message,
              HasSubstr("summary.json is not what a run writes"));
  WriteRun("seedless", "federation.policy = x\n", {});
  EXPECT_THAT(ReadRunFigures(PathOf("seedless"), ReadFlat).error().message,
              HasSubstr("federation.seed = \"\" is no seed"));
}

TEST_F(RunFiguresTest, ATrainingHasATestAfterEveryEpochOnTheClockOfItsMachine) {
  Write("train/config.toml", "train.seed = 5\ntrain.model = mlp:9\n");
  Write("train/epochs.jsonl",
        "{\"epoch\":1,\"test\":{\"loss\":2.5,\"accuracy\":0.25},\"seconds\":1.5}\n"
        "{\"epoch\":2,\"test\":{\"loss\":\"nan\",\"accuracy\":0.75},\"seconds\":2.0}\n{\"epo");
  RunFigures run = Read(PathOf("train"));
  EXPECT_EQ(run.policy, "centralised");
  EXPECT_EQ(run.seed, 5u);
  EXPECT_EQ(run.settings, (FlatSettings{{"train.model", "mlp:9"}}));
  EXPECT_TRUE(run.measured_time);
  EXPECT_FALSE(run.complete);
  Json json = RunJson(run, std::vector<double>{0.5}, {});
  EXPECT_EQ(json["tests"]["t_s"], List({1.5, 3.5}));
  EXPECT_EQ(json["tests"]["loss"], List({2.5, nullptr}));
  EXPECT_EQ(json["time_to_accuracy_s"], List({3.5}));
  Write("train/summary.json", R"({"complete": true, "stopped_by": "epochs"})");
  EXPECT_TRUE(Read(PathOf("train")).complete);
  for (const char* damaged : {"[]", "7", R"({"complete": 1, "stopped_by": "epochs"})",
                              R"({"complete": true, "stopped_by": 3})"}) {
    Write("train/summary.json", damaged);
    EXPECT_THAT(ReadRunFigures(PathOf("train"), ReadFlat).error().message,
                HasSubstr("summary.json is not what a training writes"))
        << damaged;
  }
}

TEST_F(RunFiguresTest, ATrainingWithoutAnEpochIsRefused) {
  Write("train/config.toml", "train.seed = 5\n");
  Write("train/epochs.jsonl", "");
  EXPECT_THAT(ReadRunFigures(PathOf("train"), ReadFlat).error().message,
              HasSubstr("is a training (`metis train`) that ended before its first epoch"));
}

}  // namespace
}  // namespace metis::report
