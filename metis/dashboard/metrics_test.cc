#include "metis/dashboard/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace metis::dashboard {
namespace {

operations::Status Example() {
  operations::Status status;
  status.program = "metis 1";
  status.federation = "f";
  status.policy = "async-dvw";
  status.phase = "paused";
  status.time_s = 61.5;
  status.version = 12;
  status.requests = 11;
  status.memory_bytes = 123'456'789;
  status.bytes_sent = 1ull << 40;
  status.tests = {{1, 2, 2, 0.5, 1.5}, {60, 12, 11, 0.75, 0.25}};
  status.best = operations::TestStatus{50, 10, 9, 0.8125, 0.25};
  operations::ParticipantStatus north;
  north.name = "no\"rth\\";
  north.role = "learner";
  north.state = "training";
  north.connected = true;
  north.contribution = 0.625;
  north.share = 0.25;
  north.staleness = 7;
  north.updates = 5;
  north.last_seen_s = 1.5;
  north.cycles = {{"C1", 3}, {"C3", 2}};
  operations::ParticipantStatus south = north;
  south.id = 1;
  south.name = "south";
  south.connected = false;
  south.state = "lost";
  south.staleness.reset();
  south.last_seen_s.reset();
  south.share = 0.75;
  south.cycles.clear();
  status.participants = {north, south};
  return status;
}

// Values by name and labels, as they are written.
std::map<std::string, std::string> Values(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const size_t space = line.rfind(' ');
    EXPECT_TRUE(values.emplace(line.substr(0, space), line.substr(space + 1)).second)
        << "twice: " << line;
  }
  return values;
}

TEST(Metrics, AreTheValuesOfTheStatus) {
  const auto values = Values(FormatMetrics(Example()));
  const std::map<std::string, std::string> wanted = {
      {"metis_phase{phase=\"paused\"}", "1"},
      {"metis_phase{phase=\"running\"}", "0"},
      {"metis_time_seconds", "61.5"},
      {"metis_community_version", "12"},
      {"metis_update_requests_total", "11"},
      {"metis_memory_bytes", "123456789"},
      {"metis_sent_bytes_total", "1099511627776"},
      {"metis_test_accuracy", "0.75"},
      {"metis_best_accuracy", "0.8125"},
      {"metis_participants{role=\"learner\",state=\"lost\"}", "1"},
      {"metis_participant_connected{participant=\"south\",role=\"learner\"}", "0"},
      {"metis_participant_share{participant=\"south\",role=\"learner\"}", "0.75"},
      {"metis_participant_updates_total{participant=\"south\",role=\"learner\"}", "5"},
  };
  for (const auto& [name, value] : wanted) {
    ASSERT_TRUE(values.contains(name)) << name << "\n" << FormatMetrics(Example());
    EXPECT_EQ(std::stod(values.at(name)), std::stod(value)) << name;
  }
}

TEST(Metrics, NamesOfParticipantsAreEscaped) {
  const auto values = Values(FormatMetrics(Example()));
  EXPECT_TRUE(values.contains(
      R"(metis_participant_cycles_total{participant="no\"rth\\",role="learner",reason="C3"})"))
      << FormatMetrics(Example());
}

TEST(Metrics, WhatIsNotKnownIsAbsent) {
  const std::string text = FormatMetrics(Example());
  EXPECT_EQ(text.find("staleness_steps{participant=\"south\""), std::string::npos);
  EXPECT_EQ(text.find("last_seen_seconds{participant=\"south\""), std::string::npos);
  const std::string empty = FormatMetrics(operations::Status());
  EXPECT_EQ(empty.find("metis_test_accuracy"), std::string::npos);
  EXPECT_EQ(empty.find("metis_participant"), std::string::npos);
  EXPECT_NE(empty.find("metis_update_requests_total 0"), std::string::npos);
}

// The text format: every family with HELP and TYPE once, counters and only they end in _total.
TEST(Metrics, FollowTheTextFormat) {
  std::set<std::string> families;
  std::string family, type;
  std::istringstream lines(FormatMetrics(Example()));
  const std::regex sample(R"(([a-z_]+)(\{([a-z]+="([^"\\\n]|\\["\\n])*",?)+\})? \S+)");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, word;
    if (line.starts_with("# HELP")) continue;
    if (line.starts_with("# TYPE")) {
      words >> hash >> word >> family >> type;
      EXPECT_TRUE(families.insert(family).second) << family;
      EXPECT_EQ(family.ends_with("_total"), type == "counter") << family;
      EXPECT_TRUE(family.starts_with("metis_")) << family;
      continue;
    }
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    EXPECT_EQ(match[1], family) << line;
  }
  EXPECT_GT(families.size(), 30u);
}

}  // namespace
}  // namespace metis::dashboard
