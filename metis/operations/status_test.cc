#include "metis/operations/status.h"

#include <gtest/gtest.h>

#include <cmath>

namespace metis::operations {
namespace {

Status Example() {
  Status status;
  status.federation = "two hospitals";
  status.phase = "running";
  status.version = 7;
  status.requests_per_minute = 12.5;
  status.best = TestStatus{1.5, 6, 6, 0.75, std::nan("")};
  ParticipantStatus& north = status.participants.emplace_back();
  north.name = "north";
  north.state = "training";
  north.connected = true;
  north.version = 7;
  north.cycles = {{"improvement", 3}, {"staleness", 1}};
  status.participants.emplace_back().id = 1;
  status.tests = {{0, 0, 0, 0.1, 2.3}, {1.5, 6, 6, 0.75, 0.5}};
  status.cycles = {{1.2, 0, 4, "improvement", 30}};
  status.events = {{0.5, "north has joined"}};
  return status;
}

TEST(Status, WhatIsWrittenIsReadAgain) {
  const std::string text = FormatStatus(Example()).dump();
  Result<Status> read = ParseStatus(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(FormatStatus(*read).dump(), text);
  EXPECT_EQ(read->participants[0].cycles.at("improvement"), 3u);
  EXPECT_FALSE(read->participants[1].version.has_value());
  EXPECT_TRUE(std::isnan(read->best->loss));
}

TEST(Status, ADocumentOfAnotherVersionIsReadAsFarAsItIsKnown) {
  Result<Status> read = ParseStatus(R"({"version": 3, "colour": "red"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->version, 3u);
  EXPECT_EQ(read->phase, "");
}

TEST(Status, AFieldOfAnotherTypeIsNamed) {
  const auto complaint = [](const char* text) { return ParseStatus(text).error().message; };
  EXPECT_NE(complaint(R"({"version": -1})").find("\"version\""), std::string::npos);
  EXPECT_NE(complaint(R"({"participants": [{}, {"name": 3}]})").find("\"participants[1].name\""),
            std::string::npos);
  EXPECT_NE(complaint(R"({"tests": 1})").find("a list"), std::string::npos);
  EXPECT_NE(complaint("[]").find("no JSON object"), std::string::npos);
  EXPECT_NE(complaint("{").find("no JSON object"), std::string::npos);
}

}  // namespace
}  // namespace metis::operations
