#include "metis/report/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/report/json_archive.h"

namespace metis::report {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AuditLogTest : public FileTest {
 protected:
  std::vector<std::string> Lines() const {
    std::ifstream in(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  const std::string path_ = Path("audit.jsonl");
  const std::string when_ = "2024-05-17T09:30:00Z";
};

TEST_F(AuditLogTest, ALineHasTheTimeFirstAndGoesOnAfterARestart) {
  ASSERT_TRUE(
      AuditLog::Open(path_).value()->Append(when_, {{"peer", "10.0.0.7"}, {"kind", "token"}}));
  ASSERT_TRUE(AuditLog::Open(path_).value()->Append(when_, {{"kind", "oversize"}}));
  EXPECT_THAT(Lines(),
              testing::ElementsAre("{\"time\":\"2024-05-17T09:30:00Z\",\"kind\":\"token\","
                                   "\"peer\":\"10.0.0.7\"}",
                                   "{\"time\":\"2024-05-17T09:30:00Z\",\"kind\":\"oversize\"}"));
}

TEST_F(AuditLogTest, WhatAPeerSaysStaysWithinItsField) {
  auto log = AuditLog::Open(path_).value();
  std::string hostile = "a\"}\n{\"kind\":\"forged\"}\r\x1b[2J\xff\xc3\xe2\x80\xa8";
  hostile.push_back('\0');
  ASSERT_TRUE(log->Append(when_, {{"name", hostile}, {"time", "forged"}}));
  ASSERT_EQ(Lines().size(), 1u);
  const Json line = Json::parse(Lines()[0]);
  EXPECT_EQ(line.size(), 2u);
  EXPECT_EQ(line["time"], when_);
  EXPECT_THAT(line["name"].get<std::string>(), HasSubstr("a\"}\n{\"kind\":\"forged\"}\r"));
  const std::string text = Lines()[0];
  for (const char byte : text) EXPECT_TRUE(byte >= ' ' && byte < 127);
}

TEST_F(AuditLogTest, ALongFieldIsCutAtACharacter) {
  auto log = AuditLog::Open(path_).value();
  std::string umlauts;
  for (int i = 0; i < 600; ++i) umlauts += "\xc3\xa4";
  const std::string exact(kMostAuditedCharacters, 'x');
  ASSERT_TRUE(log->Append(
      when_,
      {{"a", umlauts}, {"b", exact}, {"c", exact + "y"}, {"d", std::string(1'000'000, '\x80')}}));
  const Json line = Json::parse(Lines().at(0));
  EXPECT_EQ(line["a"], umlauts.substr(0, 2 * kMostAuditedCharacters) + "...");
  EXPECT_EQ(line["b"], exact);
  EXPECT_EQ(line["c"], exact + "...");
  EXPECT_LT(Lines()[0].size(), 30'000u);
}

TEST_F(AuditLogTest, ATornLineDoesNotSpoilTheNext) {
  std::ofstream(path_) << "{\"time\":\"2024-05-1";
  ASSERT_TRUE(AuditLog::Open(path_).value()->Append(when_, {{"kind", "token"}}));
  ASSERT_EQ(Lines().size(), 2u);
  EXPECT_EQ(Json::parse(Lines()[1])["kind"], "token");
}

TEST_F(AuditLogTest, AFullDiskIsSaidAndDoesNotSpoilTheNextLine) {
  auto log = AuditLog::Open(path_).value();
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 20;
  auto* action = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Result<void> first = log->Append(when_, {{"kind", "one"}});
  const Result<void> second = log->Append(when_, {{"kind", "two"}});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, action);
  EXPECT_THAT(first.error().message, HasSubstr(path_ + ": No space left"));
  EXPECT_THAT(second.error().message, HasSubstr("cannot write " + path_));
  ASSERT_TRUE(log->Append(when_, {{"kind", "three"}}));
  EXPECT_EQ(Json::parse(Lines().back())["kind"], "three");
}

TEST_F(AuditLogTest, SeveralThreadsWriteWholeLines) {
  auto log = AuditLog::Open(path_).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) (void)log->Append(when_, {{"n", Text(t, "/", i)}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> seen;
  for (const std::string& line : Lines()) seen.insert(Json::parse(line)["n"].get<std::string>());
  EXPECT_EQ(Lines().size(), 800u);
  EXPECT_EQ(seen.size(), 800u);
}

TEST_F(AuditLogTest, APlaceThatCannotBeWrittenIsSaid) {
  EXPECT_THAT(AuditLog::Open(path_ + "/no/such").error().message, HasSubstr("cannot write"));
}

}  // namespace
}  // namespace metis::report
