#include "metis/experiment/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/core/text.h"

namespace metis::experiment {
namespace {

using testing::ElementsAre;

config::Config Parse(std::string_view text) {
  Result<config::Config> config = config::ParseConfig(text, "cell.toml");
  EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
  return *config;
}

std::vector<std::string> Keys(std::string_view text, const Scale& scale) {
  std::vector<std::string> keys;
  const auto scaled = ScaledKeys(Parse(text), scale);
  for (const config::Assignment& key : *scaled) {
    keys.push_back(Text(key.key, "=", key.value));
  }
  return keys;
}

constexpr std::string_view kCifar =
    "[data]\ndataset = \"cifar10\"\n[stop]\nduration = \"14000s\"\n";
constexpr std::string_view kRounds =
    "[federation]\npolicy = \"sync-dvw\"\n[stop]\nrounds = 200\n[test]\nevery_commits = 1\n";

TEST(Scale, HasANameForEach) {
  EXPECT_EQ(NameOf({}), "full");
  EXPECT_EQ(NameOf({.data = 0.1}), "scale-0.1");
  EXPECT_EQ(NameOf({.time = 0.25}), "time-0.25");
  EXPECT_EQ(NameOf({.data = 0.1, .time = 0.25}), "scale-0.1-time-0.25");
}

TEST(Scale, ChangesNothingWhenFull) {
  EXPECT_THAT(Keys(kCifar, {}), ElementsAre());
  EXPECT_THAT(Keys(kRounds, {}), ElementsAre());
}

TEST(Scale, TakesExamplesAndTimeAlikeAndTimeOnTopOfThat) {
  EXPECT_THAT(Keys(kCifar, {.data = 0.1}),
              ElementsAre("data.examples=5000", "data.test_examples=1000", "stop.duration=1400s",
                          "test.every=14s"));
  EXPECT_THAT(Keys(kCifar, {.data = 0.1, .time = 0.1}),
              ElementsAre("data.examples=5000", "data.test_examples=1000", "stop.duration=140s",
                          "test.every=1400ms"));
  EXPECT_THAT(Keys(kCifar, {.time = 0.1}), ElementsAre("stop.duration=1400s", "test.every=14s"));
}

TEST(Scale, KeepsTheRoundsOfFewerExamples) {
  EXPECT_THAT(Keys(kRounds, {.data = 0.5}),
              ElementsAre("builtin.training_examples=3000", "builtin.test_examples=500"));
  EXPECT_THAT(Keys(kRounds, {.time = 0.1}), ElementsAre("stop.rounds=20", "test.every_commits=1"));
  EXPECT_THAT(Keys(kRounds, {.time = 0.001}), ElementsAre("stop.rounds=1", "test.every_commits=1"))
      << "0.2 rounds are none";
}

TEST(Scale, TakesOfWhatACellTakes) {
  EXPECT_THAT(Keys("[data]\ndataset = \"cifar100\"\nexamples = 2001\n[stop]\nrequests = 7\n"
                   "[test]\nevery_commits = 3\n",
                   {.data = 0.5, .time = 0.5}),
              ElementsAre("data.examples=1001", "data.test_examples=5000", "stop.requests=4",
                          "test.every_commits=2"));
  EXPECT_THAT(Keys("[data]\ndataset = \"own.npz\"\nexamples = 900\ntest_examples = 400\n"
                   "[stop]\nrequests = 7\n",
                   {.data = 0.5}),
              ElementsAre("data.examples=450", "data.test_examples=200"))
      << "a file of unknown size whose cell says how much of it is taken";
}

TEST(Scale, LeavesAtLeastAMiniBatch) {
  EXPECT_THAT(Keys("[stop]\nduration = \"10s\"\n[training]\nbatch_size = 32\n", {.data = 0.001}),
              ElementsAre("builtin.training_examples=32", "builtin.test_examples=32",
                          "stop.duration=100ms", "test.every=100us"));
  EXPECT_THAT(Keys("[builtin]\ntraining_examples = 20\n[stop]\nrequests = 3\n"
                   "[training]\nbatch_size = 32\n",
                   {.data = 0.1}),
              ElementsAre("builtin.training_examples=20", "builtin.test_examples=100"))
      << "no more than there are";
}

TEST(Scale, NeedsToKnowHowManyExamplesThereAre) {
  auto keys = ScaledKeys(Parse("[data]\ndataset = \"own.npz\"\n"), {.data = 0.1});
  ASSERT_FALSE(keys.ok());
  EXPECT_THAT(keys.error().message, testing::HasSubstr("of own.npz is not known"));
  EXPECT_TRUE(ScaledKeys(Parse("[data]\ndataset = \"own.npz\"\n"), {.time = 0.1}).ok());
}

TEST(Scale, SaysWhatDiffers) {
  const config::Config full = Parse("[stop]\nduration = \"14000s\"\n");
  const config::Config scaled = Parse(
      "[stop]\nduration = \"140s\"\n[builtin]\ntraining_examples = 600\ntest_examples = 100\n");
  EXPECT_EQ(Differences(full, full), "");
  EXPECT_EQ(Differences(full, scaled),
            "600 of 6,000 training examples, 100 of 1,000 test examples, 140 s of 14,000 s; "
            "a fast learner with an even share of the examples has time for 1,400 of 23,333 "
            "local epochs")
      << "60 examples are a whole batch of 100 ms, 600 are six";
}

TEST(Scale, MovesTheMomentOfAMeasure) {
  const Measure time{.at = "10000s", .label = "", .time = Duration::Seconds(10'000)};
  const Measure rounds{.at = "200 rounds", .label = "", .rounds = 200};
  const Scale scale{.data = 0.1, .time = 0.5};
  EXPECT_EQ(Scaled(time, scale).time, Duration::Seconds(500));
  EXPECT_EQ(Scaled(rounds, scale).rounds, 100u) << "fewer examples do not change rounds";
}

TEST(Scale, BoundsTheImages) {
  // 5 learners at 100 ms and 5 at 1 s: 550 batches of 100 in 10 s.
  EXPECT_DOUBLE_EQ(MostImages(Parse("[stop]\nduration = \"10s\"\n")).value(), 55'000);
  EXPECT_DOUBLE_EQ(MostImages(Parse(kRounds)).value(), 6000.0 * 4 * 200);
  EXPECT_EQ(MostImages(Parse("[stop]\ntarget_accuracy = 0.9\n")), std::nullopt);
}

}  // namespace
}  // namespace metis::experiment
