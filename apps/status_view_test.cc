#include "apps/status_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "metis/core/text.h"

namespace metis::apps {
namespace {

using operations::ParticipantStatus;
using operations::Status;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string Shown(const Status& status) {
  std::ostringstream out;
  PrintStatus(out, status, false);
  return out.str();
}

Status Example() {
  Status status;
  status.phase = "running";
  status.phase_reason = "2 learners have joined";
  status.policy = "async-dvw";
  status.model = "mnist-cnn";
  status.parameters = 1234;
  status.version = 41;
  status.requests = 40;
  status.withdrawals = 1;
  status.requests_per_minute = 12.34;
  status.time_s = 3690;
  status.part = 0.25;
  ParticipantStatus& north = status.participants.emplace_back();
  north.name = "north";
  north.role = "learner";
  north.state = "training";
  north.version = 40;
  north.staleness = 17;
  north.contribution = 0.875;
  north.share = 0.6;
  north.updates = 25;
  north.last_seen_s = 0.4;
  north.address = "ipv4:10.0.0.7:4711";
  ParticipantStatus& tester = status.participants.emplace_back();
  tester.name = "tester";
  tester.role = "observer";
  tester.state = "lost";
  return status;
}

TEST(StatusView, SaysHowFarItIsAndWhoTakesPart) {
  const std::string shown = Shown(Example());
  EXPECT_THAT(shown, HasSubstr("running: 2 learners have joined\n"));
  EXPECT_THAT(shown, HasSubstr("41 after 40 updates (12.3 a minute), 1 withdrawal"));
  EXPECT_THAT(shown, HasSubstr("1.0 h, 25.0 % of the way"));
  EXPECT_THAT(shown, ContainsRegex("north +training +40 +17 +0.8750 +60.0 % +25 "));
  EXPECT_THAT(shown, ContainsRegex("tester \\(observer\\) +lost +- +- +- "));
  EXPECT_THAT(shown, HasSubstr("0.4 s ago"));
}

TEST(StatusView, OnlyTheLastEventsAreShown) {
  Status status = Example();
  for (int i = 0; i < 30; ++i) status.events.push_back({1.0 * i, Text("event ", i, ".")});
  const std::string shown = Shown(status);
  EXPECT_THAT(shown, HasSubstr("event 29."));
  EXPECT_THAT(shown, Not(HasSubstr("event 20.")));
}

TEST(StatusView, NothingInItCommandsTheTerminal) {
  Status status = Example();
  status.participants[0].name = "\x1b[2Jevil\n";
  status.participants[0].address = "\x07";
  status.phase_reason = "\x1b]0;title\x07";
  status.events.push_back({1, "\x1b[31mred"});
  const std::string shown = Shown(status);
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
  EXPECT_THAT(shown, Not(HasSubstr("\x07")));
  EXPECT_THAT(shown, HasSubstr("?[2Jevil?"));
}

TEST(StatusView, AnEmptyFederationIsSaid) {
  const std::string shown = Shown(Status());
  EXPECT_THAT(shown, HasSubstr("not running"));
  EXPECT_THAT(shown, HasSubstr("nobody has joined yet"));
}

}  // namespace
}  // namespace metis::apps
