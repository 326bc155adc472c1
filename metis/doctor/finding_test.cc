#include "metis/doctor/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace metis::doctor {
namespace {

using testing::HasSubstr;

TEST(Messages, EachHasANameOfItsOwn) {
  std::set<std::string_view> seen;
  for (const Message& message : Messages()) {
    EXPECT_TRUE(seen.insert(message.id).second) << message.id;
    EXPECT_NE(message.id.find('.'), message.id.npos) << message.id;
    EXPECT_FALSE(message.what.empty()) << message.id;
  }
}

TEST(Messages, WhatIsWrongSaysWhatItMeansAndWhatToDo) {
  for (const Message& message : Messages()) {
    const bool good = message.verdict == Verdict::kOk;
    EXPECT_EQ(message.means.empty(), good) << message.id;
    EXPECT_EQ(message.todo.empty(), good) << message.id;
  }
}

TEST(Messages, EachStandsInTheOperatorsHandbook) {
  std::ifstream file(METIS_SOURCE_DIR "/docs/operations.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Message& message : Messages()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(message.id) + "`"));
  }
}

TEST(Say, PutsTheValuesInTheirPlaces) {
  const Finding finding = Say("listen.taken", {"0.0.0.0:7740", "7740"});
  EXPECT_EQ(finding.what, "0.0.0.0:7740 is in use by another program");
  EXPECT_THAT(finding.todo, HasSubstr("'sport = :7740'"));
  EXPECT_EQ(finding.verdict, Verdict::kFailure);
  EXPECT_EQ(finding.subject(), "listen");
}

TEST(Say, AValueIsNotLookedAtAgain) {
  EXPECT_EQ(Say("config.bad", {"{1} and {x}"}).what, "{1} and {x}");
}

TEST(Say, APeersControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(Say("config.bad", {"a\x1b[2J\tb\nc"}).what, "a?[2J?b\nc");
}

TEST(FormatFindings, PutsWordsBelowEachOtherAndCounts) {
  const std::string text =
      FormatFindings({Say("listen.free", {"a:1"}), Say("config.bad", {"line one\nline two"}),
                      Say("clock.unkept")});
  EXPECT_THAT(text, HasSubstr("ok       listen       a:1 is free to listen on\n"));
  EXPECT_THAT(text, HasSubstr("failure  config       line one\n                      line two\n"));
  EXPECT_THAT(text, HasSubstr("\n                      No controller starts"));
  EXPECT_THAT(text, testing::EndsWith("\n1 failure, 1 warning, 1 ok\n"));
}

TEST(FormatFindings, AsJsonHasTheSame) {
  const auto document = nlohmann::json::parse(
      FormatFindingsJson({Say("listen.free", {"a:1"}), Say("config.bad", {"not \xff UTF-8"})}));
  EXPECT_EQ(document["failures"], 1);
  EXPECT_EQ(document["warnings"], 0);
  ASSERT_EQ(document["findings"].size(), 2u);
  EXPECT_EQ(document["findings"][1]["id"], "config.bad");
  EXPECT_EQ(document["findings"][1]["verdict"], "failure");
  EXPECT_NE(document["findings"][1]["todo"], "");
}

TEST(AnyFailure, IsOnlyWhatIsOne) {
  EXPECT_FALSE(AnyFailure({Say("clock.unkept"), Say("clock.kept")}));
  EXPECT_TRUE(AnyFailure({Say("clock.kept"), Say("config.bad", {"x"})}));
}

}  // namespace
}  // namespace metis::doctor
