#include "metis/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "metis/config/document.h"
#include "metis/config/testing.h"
#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ParseDocument, TakesDottedKeysAsTablesOrAsPaths) {
  constexpr std::string_view kText = "[[row]]\nid = 3\na.c = 4\na.b.d = 5\n";
  const auto keys = [&](DottedKeys dotted) {
    std::vector<std::string> found;
    const Document document = ParseDocument(kText, kFile, dotted).value();
    for (const Entry& entry : document.sections.at(0).entries) {
      found.push_back(Text(entry.key, "=", entry.value.written, " ", entry.value.place.line));
    }
    return found;
  };
  EXPECT_THAT(keys(DottedKeys::kTables), ElementsAre("id=3 2", "a=a table 3"));
  EXPECT_THAT(keys(DottedKeys::kPaths), ElementsAre("id=3 2", "a.c=4 3", "a.b.d=5 4"));
}

TEST(ParseConfig, AnEmptyFileIsTheDefaultOfEverySettingAndEndsAfterAnHour) {
  Config expected;
  expected.federation.policy = *policy::PolicyNamed("async-dvw");
  policy::SetOfGroup(expected.federation, "slow", "trigger.vc_loss_pct", 1.0);
  policy::SetOfGroup(expected.federation, "slow", "trigger.vc_tombstones", 1);
  expected.federation.stop.duration = Duration::Hours(1);
  expected.federation.test.every = Duration::Seconds(36);
  EXPECT_EQ(Parsed(""), expected);
  EXPECT_EQ(DefaultConfig(), expected);
}

TEST(ParseConfig, ReadsEverySection) {
  Config config = Parsed(R"(
[federation]
policy = "sync-dvw"
learners = 3
seed = 7
[sync]
round_deadline = "30s"
[validation]
metric = "matthews"
[stop]
rounds = 200
[training]
learning_rate = 1
[data]
sizes = "powerlaw:1.2"
classes = "noniid:8x1,4x2"
[builtin]
features = 5
[[group]]
name = "edge"
batch_time = "1.5s"
)");
  EXPECT_EQ(policy::NameOf(config.federation.policy), "sync-dvw");
  EXPECT_EQ(config.simulation.seed, 7u);
  EXPECT_EQ(ValueOf(config, "sync.round_deadline"), "30s");
  EXPECT_EQ(ValueOf(config, "validation.metric"), "matthews");
  EXPECT_EQ(config.federation.stop.rounds, 200u);
  EXPECT_EQ(config.federation.stop.duration, std::nullopt);
  EXPECT_EQ(config.training.learning_rate, 1.0);
  EXPECT_EQ(config.data.powerlaw_exponent, 1.2);
  EXPECT_EQ(config.data.class_runs, (std::vector<data::ClassRun>{{8, 1}, {4, 2}}));
  EXPECT_EQ(config.simulation.builtin.features, 5u);
  ASSERT_EQ(config.simulation.groups.size(), 1u);
  EXPECT_EQ(config.simulation.groups[0].name, "edge");
  EXPECT_EQ(config.simulation.groups[0].learners, 3u);
  EXPECT_EQ(config.simulation.groups[0].evaluation_batch_time, Duration::Milliseconds(495));
}

TEST(ParseConfig, RoundsKeepTheirModelsWhereThatCostsNoMemory) {
  const auto keep = [](std::string_view storage) {
    return Parsed(Text("[storage]\n", storage)).federation.keep_models;
  };
  EXPECT_TRUE(keep(""));
  EXPECT_TRUE(keep("memory_mb = 100"));
  EXPECT_FALSE(keep("durability = \"none\""));
  EXPECT_TRUE(keep("durability = \"none\"\nmemory_mb = 100"));
}

TEST(ParseConfig, NamesAnUnknownKeyAndTheNearestOne) {
  EXPECT_THAT(Complaint("[federation]\npolcy = \"async-dvw\"\n"),
              testing::StartsWith("federation.toml:2: unknown key \"polcy\" in [federation]: did "
                                  "you mean \"policy\"? (allowed: policy, protocol, "));
  EXPECT_EQ(Complaint("[test]\nevry = \"9s\"\n"),
            "federation.toml:2: unknown key \"evry\" in [test]: did you mean \"every\"? "
            "(allowed: every, every_commits)");
  EXPECT_EQ(Complaint("[sync]\nzzzzzzzz = 1\n"),
            "federation.toml:2: unknown key \"zzzzzzzz\" in [sync] "
            "(allowed: round_deadline, late_updates)");
}

TEST(ParseConfig, NamesTheSectionOfAKeyThatStandsInAnother) {
  EXPECT_EQ(Complaint("[sync]\nrounds = 1\n"),
            "federation.toml:2: unknown key \"rounds\" in [sync]: it belongs in [stop] "
            "(allowed: round_deadline, late_updates)");
  EXPECT_EQ(Complaint("vc_loss_pct = 1\n"),
            "federation.toml:1: key \"vc_loss_pct\" stands in no section: "
            "it belongs in [trigger] or [[group]]");
  EXPECT_EQ(Complaint("polcy = 1\n"),
            "federation.toml:1: key \"polcy\" stands in no section: "
            "did you mean \"policy\" in [federation]?");
  EXPECT_EQ(Complaint("zzz = 1\n"), "federation.toml:1: key \"zzz\" stands in no section");
}

TEST(ParseConfig, NamesAnUnknownSectionAndTheNearestOne) {
  EXPECT_EQ(Complaint("\n[federaton]\nlearners = 3\n"),
            "federation.toml:2: unknown section [federaton]: did you mean [federation]? (allowed: "
            "[federation], [sync], [fedasync], [validation], [trigger], [membership], [stop], "
            "[test], [training], [data], [builtin], [network], [storage], [dashboard], "
            "[[group]])");
  EXPECT_THAT(Complaint("[[gruop]]\n"), HasSubstr("[[gruop]]: did you mean [[group]]?"));
}

TEST(ParseConfig, NamesAnUnknownWordAndTheNearestOne) {
  EXPECT_EQ(Complaint("[federation]\npolicy = \"asinc\"\n"),
            "federation.toml:2: policy = \"asinc\": must be one of \"sync-fedavg\", \"sync-dvw\", "
            "\"async-fedavg\", \"fedasync\", \"async-dvw\", \"async-dvw-adaptive\", \"custom\"; "
            "did you mean \"async-dvw\"?");
  EXPECT_EQ(Complaint("[sync]\nlate_updates = 3\n"),
            "federation.toml:2: late_updates = 3: must be one of \"refuse\", \"keep\"");
}

TEST(ParseConfig, NamesTheTypeThatWasExpected) {
  EXPECT_EQ(Complaint("[federation]\nlearners = \"ten\"\n"),
            "federation.toml:2: learners = \"ten\": expected a whole number, "
            "between 1 and 1000000");
  EXPECT_EQ(Complaint("[federation]\nlearners = 2.5\n"),
            "federation.toml:2: learners = 2.5: expected a whole number, between 1 "
            "and 1000000");
  EXPECT_EQ(Complaint("[training]\nmomentum = [1]\n"),
            "federation.toml:2: momentum = an array: expected a number, at least 0 "
            "and below 1");
  EXPECT_EQ(Complaint("[training]\nmomentum = {}\n"),
            "federation.toml:2: momentum = a table: expected a number, at least 0 "
            "and below 1");
  EXPECT_EQ(Complaint("[training]\nkeep_momentum = 1979-05-27\n"),
            "federation.toml:2: keep_momentum = a date: expected true or false");
  EXPECT_EQ(
      Complaint("[sync]\nround_deadline = 30\n"),
      "federation.toml:2: round_deadline = 30: expected a duration with its unit, e.g. \"90s\"");
  EXPECT_EQ(Complaint("[data]\nsizes = true\n"),
            "federation.toml:2: sizes = true: expected a text in quotes");
}

TEST(ParseConfig, NamesTheRangeOfAValueOutsideOfIt) {
  EXPECT_EQ(Complaint("[federation]\nlearners = 0\n"),
            "federation.toml:2: learners = 0: must be between 1 and 1000000");
  EXPECT_EQ(Complaint("[federation]\nseed = -1\n"),
            "federation.toml:2: seed = -1: must be at least 0");
  EXPECT_EQ(Complaint("[training]\nmomentum = 1\n"),
            "federation.toml:2: momentum = 1: must be at least 0 and below 1");
  EXPECT_EQ(Complaint("[training]\nlearning_rate = 0.0\n"),
            "federation.toml:2: learning_rate = 0: must be above 0");
  EXPECT_EQ(Complaint("[training]\nlearning_rate = inf\n"),
            "federation.toml:2: learning_rate = inf: must be a finite number, above 0");
  EXPECT_EQ(Complaint("", {Set("group.fast.bandwidth_mbit_s=1e-13")}),
            "--set group.fast.bandwidth_mbit_s=1e-13: bandwidth_mbit_s = 1e-13: must be at least "
            "0.001");
  EXPECT_EQ(Complaint("[fedasync]\nalpha = nan\n"),
            "federation.toml:2: alpha = nan: must be a finite number, above 0 and at most 1");
  EXPECT_EQ(Complaint("[membership]\nheartbeat = \"0s\"\n"),
            "federation.toml:2: heartbeat = \"0s\": must be above 0s and at most 8760h");
  EXPECT_THAT(Complaint("[membership]\nheartbeat = \"10 lightyears\"\n"),
              StartsWith("federation.toml:2: heartbeat = \"10 lightyears\": "));
}

TEST(ParseConfig, ExplainsTheWordsOfAPartition) {
  EXPECT_THAT(
      Complaint("[data]\nsizes = \"powrlaw\"\n"),
      StartsWith("federation.toml:2: sizes = \"powrlaw\": \"powrlaw\" is not known, did you "
                 "mean \"powerlaw\"?"));
  EXPECT_THAT(Complaint("[data]\nclasses = \"noniid:x\"\n"),
              StartsWith("federation.toml:2: classes = \"noniid:x\": \"x\" is no number"));
}

TEST(ParseConfig, FindsAllMistakesAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(Complaint("[training]\nmomentum = 2\n[federation]\nquorum = 11\nlearners = 4\n"
                      "[stop]\nrounds = 3\npatience = 0\n[sync]\nlate_updates = \"kep\"\n",
                      {Set("trigger.local_epochs=0")}),
            "federation.toml:2: momentum = 2: must be at least 0 and below 1\n"
            "federation.toml:4: quorum = 11 is more than learners = 4: "
            "the federation would always be paused\n"
            "federation.toml:7: rounds = 3 is for the protocol \"synchronous\": "
            "use requests to bound commits\n"
            "federation.toml:8: patience = 0: must be between 1 and 4294967295\n"
            "federation.toml:10: late_updates = \"kep\": must be one of \"refuse\", \"keep\"; "
            "did you mean \"keep\"?\n"
            "--set trigger.local_epochs=0: local_epochs = 0: must be between 1 and 1000000");
}

TEST(ParseConfig, AValueThatCannotBeReadCausesNoFurtherComplaint) {
  EXPECT_EQ(Complaint("[federation]\nlearners = \"thirty\"\nquorum = 20\n"),
            "federation.toml:2: learners = \"thirty\": expected a whole number, "
            "between 1 and 1000000");
}

TEST(ParseConfig, ReportsErrorsOfSyntaxWithTheirLine) {
  EXPECT_THAT(Complaint("[federation]\nlearners = 3\nlearners = 4\n"),
              StartsWith("federation.toml:3: this is no TOML: "));
  EXPECT_THAT(Complaint("[federation]\nlearners = \n"),
              StartsWith("federation.toml:2: this is no TOML: "));
  EXPECT_THAT(Complaint("[sync]\n\n[sync]\n"), StartsWith("federation.toml:3: this is no TOML: "));
  for (std::string line : {"[=]", "[[#", " [[[sync]]]", "[.sync]", "[\n]", "a =1979-05-27 0\n"}) {
    EXPECT_EQ(Complaint("# one\n\n" + line + "\n[sync]\n"),
              "federation.toml:3: this is no TOML: the line can't be understood")
        << line;
  }
  EXPECT_EQ(Complaint("\xef\xbb\xbf[sync]\r\nlate_updates = \"keep\"\r\n"), "");
  EXPECT_THAT(Complaint("[]\n"), StartsWith("federation.toml:1: this is no TOML: "));
  EXPECT_THAT(Complaint("[federation]\n# caf\xe9\n"),
              StartsWith("federation.toml:2: this is no TOML: "));
}

TEST(ParseConfig, TellsASectionFromAList) {
  EXPECT_EQ(Complaint("[group]\nname = \"fast\"\n"),
            "federation.toml:1: [group] is a list: write [[group]], once for each group");
  EXPECT_EQ(Complaint("\n[[sync]]\n"),
            "federation.toml:2: [[sync]] is no list: write it once, as [sync]");
  EXPECT_EQ(Complaint("sync = 3\n"),
            "federation.toml:1: sync = 3: this is a section; write [sync] and its keys below it");
}

TEST(ParseConfig, EveryPolicyHasItsProtocolWeightingAndTrigger) {
  for (std::string_view name : policy::kPolicyNames) {
    Config config = Parsed("", {{"federation.policy", std::string(name), "--policy"}});
    EXPECT_EQ(config.federation.policy, policy::PolicyNamed(name)) << name;
  }
}

TEST(ParseConfig, WhatIsSetByItselfWinsOverThePolicy) {
  Config config = Parsed("[federation]\npolicy = \"sync-fedavg\"\nprotocol = \"asynchronous\"\n");
  EXPECT_EQ(policy::NameOf(config.federation.policy), "async-fedavg");
}

TEST(ParseConfig, ACustomPolicyNeedsAllThreeOfItsParts) {
  EXPECT_EQ(Complaint("[federation]\npolicy = \"custom\"\ntrigger = \"epochs\"\n"),
            "federation.toml:2: policy = \"custom\": set protocol, weighting and trigger, too");
  EXPECT_EQ(Complaint("[federation]\npolicy = \"custom\"\nprotocol = \"synchronous\"\n"
                      "weighting = \"validation\"\ntrigger = \"adaptive\"\n"),
            "");
}

TEST(ParseConfig, FedAsyncHasAProximalTermUnlessItIsSet) {
  EXPECT_EQ(Parsed("[federation]\npolicy = \"fedasync\"\n").training.proximal, 0.005);
  EXPECT_EQ(
      Parsed("[federation]\npolicy = \"fedasync\"\n[training]\nproximal = 0\n").training.proximal,
      0.0);
  EXPECT_EQ(Parsed("[federation]\npolicy = \"async-dvw\"\n").training.proximal, 0.0);
}

TEST(ParseConfig, LearnersWithoutGroupsAreHalfFastAndHalfSlowAndTheOddOneIsFast) {
  Config config = Parsed("[federation]\nlearners = 7\n");
  ASSERT_EQ(config.simulation.groups.size(), 2u);
  EXPECT_EQ(config.simulation.groups[0].learners, 4u);
  EXPECT_EQ(config.simulation.groups[1].learners, 3u);
}

TEST(ParseConfig, AGroupWithoutLearnersGetsTheRest) {
  Config config = Parsed(
      "[[group]]\nname = \"a\"\n[[group]]\nname = \"b\"\nlearners = 5\n[[group]]\nname = \"c\"\n");
  ASSERT_EQ(config.simulation.groups.size(), 3u);
  EXPECT_EQ(config.simulation.groups[0].learners, 3u);
  EXPECT_EQ(config.simulation.groups[1].learners, 5u);
  EXPECT_EQ(config.simulation.groups[2].learners, 2u);
}

TEST(ParseConfig, AGroupsThresholdsGoToTheTrigger) {
  Config config = Parsed(
      "[trigger]\nvc_loss_pct = 2\n[[group]]\nname = \"fast\"\n"
      "[[group]]\nname = \"slow\"\nvc_tombstones = 1\n");
  const federation::PartValues& values = config.federation.values;
  EXPECT_EQ(values.Groups(), std::set<std::string>{"slow"});
  EXPECT_EQ(values.Get<double>(policy::KeyNamed("trigger.vc_loss_pct"), "slow"), 2);
  EXPECT_EQ(values.Get<int>(policy::KeyNamed("trigger.vc_tombstones"), "slow"), 1);
  EXPECT_EQ(values.Get<int>(policy::KeyNamed("trigger.vc_tombstones"), "fast"), 4);
}

TEST(ParseConfig, AGroupNeedsAName) {
  EXPECT_EQ(Complaint("\n[[group]]\nlatency = \"1ms\"\n"),
            "federation.toml:2: a [[group]] needs a name, e.g. name = \"fast\"");
  EXPECT_EQ(Complaint("[[group]]\nname = \"a b\"\n"),
            "federation.toml:2: name = \"a b\": must be 1 to 64 letters, digits, - or _");
}

TEST(ParseConfig, TheModelIsTestedAHundredTimesUnlessSaidOtherwise) {
  EXPECT_EQ(Parsed("[stop]\nduration = \"200s\"\n").federation.test.every, Duration::Seconds(2));
  auto test = Parsed("[stop]\nrequests = 1050\n").federation.test;
  EXPECT_EQ(test.every, std::nullopt);
  EXPECT_EQ(test.every_commits, 10u);
  EXPECT_EQ(Parsed("[stop]\ntarget_accuracy = 0.5\n").federation.test.every_commits, 1u);
  EXPECT_EQ(Parsed("[test]\nevery_commits = 3\n").federation.test.every, std::nullopt);
}

// Law: whatever happens to a file, reading it ends in settings or in words.
TEST(ParseConfig, ADamagedFileIsAMessageNotACrash) {
  const std::string whole = FormatConfig(DefaultConfig()) + FormatTemplate().substr(0, 500);
  for (size_t size = 0; size < whole.size(); size += 3) (void)Complaint(whole.substr(0, size));
  uint64_t state = 1990;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = FormatConfig(DefaultConfig());
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged[(state >> 33) % damaged.size()] = "\0\xff\"[]=.#\n9z"[(state >> 20) % 11];
    }
    (void)Complaint(damaged);
  }
}

TEST(ParseConfig, AnAddressHasAHostAndAPort) {
  for (const char* wrong : {"localhost", ":7740", "localhost:", "localhost:65536", "host:7 "}) {
    EXPECT_THAT(Complaint(Text("[network]\nlisten = \"", wrong, "\"\n")),
                HasSubstr("must be HOST:PORT"))
        << wrong;
  }
  EXPECT_EQ(Complaint("[network]\nlisten = \"[::1]:0\"\n"), "");
}

class ReadConfigTest : public FileTest {};

TEST_F(ReadConfigTest, ReadsAFileAndNamesItInMessages) {
  std::string path = Path("a.toml");
  std::ofstream(path) << "[federation]\nlearners = 0\n";
  EXPECT_EQ(ReadConfig(path).error().message,
            path + ":2: learners = 0: must be between 1 and 1000000");
  EXPECT_EQ(ReadConfig(path, std::vector{Set("federation.learners=3")}).ok(), false);
  std::ofstream(path) << "[federation]\nlearners = 3\n";
  EXPECT_EQ(ReadConfig(path)->federation.membership.learners, 3u);
}

TEST_F(ReadConfigTest, SaysHowToMakeAMissingFile) {
  Error error = ReadConfig(Path("no.toml")).error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  const std::string path = Path("no.toml");
  EXPECT_EQ(error.message, path + ": there is no such file; `metis init " + path + "` writes one");
}

TEST_F(ReadConfigTest, RefusesADirectory) {
  Error error = ReadConfig(directory().string()).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, directory().string() + ": is a directory, not a file");
}

TEST_F(ReadConfigTest, SaysWhyAFileCannotBeRead) {
  EXPECT_THAT(ReadConfig("/proc/self/mem").error().message,
              StartsWith("/proc/self/mem: can't be read: "));
  std::string path = Path("secret.toml");
  std::ofstream(path) << "";
  std::filesystem::permissions(path, std::filesystem::perms::none);
  if (std::ifstream(path)) GTEST_SKIP() << "this user may read everything";
  EXPECT_EQ(ReadConfig(path).error().message, path + ": can't be read: Permission denied");
}

TEST_F(ReadConfigTest, RefusesAFileThatIsFarTooLarge) {
  EXPECT_EQ(ReadConfig("/dev/zero").error().message,
            "/dev/zero: is larger than 1 MiB: is it a configuration?");
}

}  // namespace
}  // namespace metis::config
