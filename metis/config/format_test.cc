#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "metis/config/config.h"
#include "metis/config/document.h"
#include "metis/config/keys.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

using Assignments = std::vector<std::pair<std::string, std::string>>;

// For every key a value that is not its default; all of them fit together. Those of parts follow
// from their declarations.
const Assignments kOtherValues = {
    {"federation.policy", "sync-fedavg"},
    {"federation.learners", "13"},
    {"federation.start_with", "7"},
    {"federation.quorum", "3"},
    {"federation.max_learners", "77"},
    {"federation.max_parameter", "1234.5"},
    {"federation.seed", "9223372036854775807"},
    {"membership.heartbeat", "3s"},
    {"membership.silence", "31s"},
    {"membership.lease", "forever"},
    {"membership.lease_end", "withdraw"},
    {"membership.retry", "250ms"},
    {"stop.duration", "14000s"},
    {"stop.requests", "500"},
    {"stop.target_accuracy", "0.9"},
    {"stop.patience", "20"},
    {"test.every", "7s"},
    {"test.every_commits", "3"},
    {"training.learning_rate", "0.1"},
    {"training.momentum", "0"},
    {"training.proximal", "0.01"},
    {"training.batch_size", "64"},
    {"training.keep_momentum", "true"},
    {"training.validation_fraction", "0.25"},
    {"training.model", "mlp:64,32"},
    {"training.precision", "bf16"},
    {"training.augmentation", "true"},
    {"training.share_statistics", "false"},
    {"data.dataset", "fashion-mnist"},
    {"data.examples", "12000"},
    {"data.test_examples", "2000"},
    {"data.test_fraction", "0.1"},
    {"data.faulty", "0:labels=random, 3:labels=noise:0.3"},
    {"data.sizes", "powerlaw:1.25"},
    {"data.classes", "noniid:4x1,3"},
    {"builtin.classes", "12"},
    {"builtin.features", "6"},
    {"builtin.training_examples", "900"},
    {"builtin.test_examples", "300"},
    {"builtin.separation", "1.7"},
    {"network.admins", "alice, bob-2"},
    {"network.listen", "0.0.0.0:0"},
    {"network.transfer", "half"},
    {"network.stalled", "45s"},
    {"network.receive_budget_mb", "512"},
    {"network.max_connections", "64"},
    {"storage.durability", "none"},
    {"storage.snapshot_every", "250"},
    {"storage.memory_mb", "2048"},
    {"dashboard.listen", "off"},
    {"group.slow.learners", "4"},
    {"group.slow.batch_time", "777us"},
    {"group.fast.evaluation_batch_time", "0s"},
    {"group.slow.latency", "80ms"},
    {"group.fast.bandwidth_mbit_s", "33.25"},
};

std::string AnotherValue(const federation::PartKey& key) {
  using namespace federation;
  const KeyValue value = key.Default();
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "false" : "true";
  if (const auto* range = std::get_if<WholeRange>(&key.allowed)) {
    const int64_t whole = std::get<int64_t>(value);
    return Text(whole < range->max ? whole + 1 : whole - 1);
  }
  if (const auto* range = std::get_if<NumberRange>(&key.allowed)) {
    const double middle = range->min + (std::min(range->max, range->min + 1) - range->min) * 0.375;
    return Text(middle == std::get<double>(value) ? middle / 2 : middle);
  }
  if (std::holds_alternative<TimeRange>(key.allowed)) {
    const Duration time = std::get<Duration>(value);
    return time == Duration::Forever() ? "90s" : FormatDuration(time / 4);
  }
  const auto& words = std::get<WordList>(key.allowed).words;
  return std::string(words[0] == std::get<std::string>(value) ? words[1] : words[0]);
}

Assignments OtherValues() {
  Assignments others = kOtherValues;
  const federation::Policy usual = *policy::PolicyNamed(policy::kDefaultPolicy);
  for (const policy::Kind& kind : policy::Kinds()) {
    for (const federation::Part* part : kind.choices) {
      if (part == kind.chosen(usual)) continue;
      others.emplace_back(Text("federation.", kind.key), part->name);
      break;
    }
  }
  for (const federation::PartKey& key : policy::Keys()) {
    others.emplace_back(key.Path(), AnotherValue(key));
    if (!key.column.empty()) others.emplace_back(Text("group.slow.", key.name), AnotherValue(key));
  }
  return others;
}

Assignment Set(const std::pair<std::string, std::string>& pair) {
  return {pair.first, pair.second, "--set " + pair.first};
}

void ExpectReadsBack(const Config& config) {
  std::string text = FormatConfig(config);
  Result<Config> again = ParseConfig(text, "resolved.toml");
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(*again, config) << text;
  EXPECT_EQ(FormatConfig(*again), text);
}

TEST(FormatConfig, OfTheDefaultsReadsBackEqual) { ExpectReadsBack(DefaultConfig()); }

TEST(FormatConfig, OfAnyKeysChangeReadsBackEqualAndDiffersFromTheDefaults) {
  std::set<std::string> seen = {"stop.rounds", "group.name"};  // tried below; no default
  for (const auto& pair : OtherValues()) {
    Result<Config> config = ParseConfig("", "f.toml", std::vector{Set(pair)});
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_NE(*config, DefaultConfig()) << pair.first;
    ExpectReadsBack(*config);
    seen.insert(std::regex_replace(pair.first, std::regex("\\.(fast|slow)\\."), "."));
  }
  for (const Section& section : Sections()) {
    for (const Key<Draft>& key : section.keys) {
      EXPECT_TRUE(seen.contains(Text(section.name, ".", key.name))) << key.name << " is not tried";
    }
  }
  for (const Key<GroupDraft>& key : GroupKeys()) {
    EXPECT_TRUE(seen.contains(Text("group.", key.name))) << key.name << " is not tried";
  }
}

// Law: whatever combination of keys is set, the resolved text says the same.
TEST(FormatConfig, OfAnyCombinationReadsBackEqual) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Assignment> some;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (const auto& pair : OtherValues()) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      if (state >> 63) some.push_back(Set(pair));
    }
    Result<Config> config = ParseConfig("", "f.toml", some);
    ASSERT_TRUE(config) << config.error().message;
    ExpectReadsBack(*config);
  }
}

TEST(FormatConfig, OfEveryPolicyAndOfNoneReadsBackEqual) {
  for (std::string_view name : policy::kPolicyNames) {
    ExpectReadsBack(
        ParseConfig("", "f.toml", std::vector{Set({"federation.policy", std::string(name)})})
            .value());
  }
  Config custom = ParseConfig(
                      "[federation]\nprotocol = \"fedasync\"\nweighting = \"training-examples\"\n"
                      "trigger = \"adaptive\"\n"
                      "[stop]\nrequests = 7\n[[group]]\nname = \"only_one\"\n",
                      "f.toml")
                      .value();
  EXPECT_EQ(policy::NameOf(custom.federation.policy), "custom");
  ExpectReadsBack(custom);
  Config rounds =
      ParseConfig("[federation]\npolicy = \"sync-dvw\"\n[stop]\nrounds = 450\n", "f.toml").value();
  EXPECT_EQ(rounds.federation.test.every_commits, 4u);
  ExpectReadsBack(rounds);
}

TEST(FormatConfig, HasEveryKey) {
  std::string text = FormatConfig(DefaultConfig());
  for (const Section& section : Sections()) {
    EXPECT_NE(text.find(Text("[", section.name, "]\n")), std::string::npos) << section.name;
    for (const Key<Draft>& key : section.keys) {
      EXPECT_NE(text.find(Text("\n", key.name, " = ")), std::string::npos) << key.name;
    }
  }
}

TEST(ValueOf, IsTheValueInWords) {
  EXPECT_EQ(ValueOf(DefaultConfig(), "federation.protocol"), "asynchronous");
  EXPECT_EQ(ValueOf(DefaultConfig(), "federation.learners"), "10");
  EXPECT_EQ(ValueOf(DefaultConfig(), "stop.rounds"), "none");
}

TEST(Template, ParsesToTheDefaults) {
  Result<Config> config = ParseConfig(FormatTemplate(), "template.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config, DefaultConfig());
}

TEST(Template, ParsesToTheDefaultsWithEveryKeyUncommented) {
  std::string text = std::regex_replace(FormatTemplate(), std::regex("(^|\n)#([a-z])"), "$1$2");
  EXPECT_NE(text, FormatTemplate());
  Result<Config> config = ParseConfig(text, "template.toml");
  ASSERT_TRUE(config) << config.error().message << "\n" << text;
  EXPECT_EQ(*config, DefaultConfig());
}

TEST(Template, FitsTheScreen) {
  std::istringstream lines(FormatTemplate());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Table, EveryKeyHasASentence) {
  auto expect_sentence = [](std::string_view text) {
    EXPECT_GT(text.size(), 10u);
    EXPECT_TRUE(text.ends_with('.')) << text;
    EXPECT_EQ(text.find('|'), text.npos) << "a | would split the row: " << text;
  };
  for (const Section& section : Sections()) {
    expect_sentence(section.documentation);
    for (const Key<Draft>& key : section.keys) expect_sentence(key.documentation);
  }
  for (const Key<GroupDraft>& key : GroupKeys()) expect_sentence(key.documentation);
}

TEST(KeyHelp, NamesEveryKeyWithItsDefault) {
  std::string help = FormatKeyHelp();
  EXPECT_NE(help.find("  learners\n      How many learners are expected.\n"
                      "      whole number, between 1 and 1000000; default: 10\n"),
            std::string::npos);
}

TEST(Reference, IsThePageInTheDocumentation) {
  std::ifstream file(METIS_SOURCE_DIR "/docs/configuration.md");
  std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(page == FormatReference()) << "docs/configuration.md is out of date: metis help "
                                            "config --markdown > docs/configuration.md";
}

TEST(IsUtf8, WholeCharactersAreAndPiecesAreNot) {
  for (const char* good :
       {"", "plain", "caf\u00e9", "\u20ac", "\U0001F600", "\U0010FFFF", "\x7f"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"caf\xe9", "\xe9.npz", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98",
                          "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff\xff\xff\xff"}) {
    EXPECT_FALSE(IsUtf8(bad)) << testing::PrintToString(bad);
  }
}

}  // namespace
}  // namespace metis::config
