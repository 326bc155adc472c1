// Who may speak with the controller, and how a conversation begins and ends.
#include "tests/loopback/raw_client.h"

namespace metis::rpc {
namespace {

TEST(Conversation, HelloIsAnsweredWithEverythingAParticipantNeeds) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Greet().has_welcome());
  EXPECT_EQ(talk.welcome.version(), wire::kNewestWire);
  EXPECT_EQ(talk.welcome.learner(), 0u);
  EXPECT_EQ(talk.welcome.token().size(), 16u);
  EXPECT_EQ(talk.welcome.federation(), "the test's");
  EXPECT_EQ(talk.welcome.config(), "seed = 1990\n");
  EXPECT_EQ(wire::DecodeSchema(talk.welcome.schema()).value()->hash(),
            served.models.schema()->hash());
  Talk other(Dial(served.address()), "east");
  ASSERT_TRUE(other.Greet().has_welcome());
  EXPECT_EQ(other.welcome.learner(), 1u);
  EXPECT_NE(other.welcome.token(), talk.welcome.token());
  EXPECT_EQ(served.server->traffic().connected, 2u);
}

TEST(Conversation, AHeartbeatIsAnsweredAndHeard) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Greet().has_welcome());
  ASSERT_TRUE(talk.Beat());
  EXPECT_TRUE(talk.Next(v1::ToParticipant::kHeartbeat).has_heartbeat());
}

TEST(Conversation, AJoinIsAcceptedAndGetsAModel) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  const v1::ToParticipant community = talk.Next(v1::ToParticipant::kCommunity);
  ASSERT_TRUE(community.has_community());
  EXPECT_EQ(community.community().model().fingerprint(),
            served.Ask([](const auto& c) { return c.community()->Fingerprint(); }));
  v1::FromParticipant leave;
  leave.mutable_leave();
  ASSERT_TRUE(talk.Write(leave));
  EXPECT_TRUE(WaitFor([&] {
    return served.Ask([](const auto& c) { return c.membership().live_learners(); }) == 0;
  }));
}

TEST(Conversation, AVersionThatWeDoNotSpeakIsRefusedInWords) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  talk.hello().set_oldest_version(wire::kNewestWire + 1);
  talk.hello().set_newest_version(wire::kNewestWire + 3);
  EXPECT_NE(talk.Greet().refused().message().find("wire versions 2 to 4"), std::string::npos);
  EXPECT_TRUE(talk.Finish().ok());
  EXPECT_EQ(served.LastRefusal().reason, "version");
  EXPECT_EQ(served.LastRefusal().name, "north");
}

TEST(Conversation, ANameThatIsNoneIsRefused) {
  Served served;
  for (const std::string& name : {std::string(), std::string(65, 'n'), std::string("a b"),
                                  std::string("../etc"), std::string("new\nline")}) {
    Talk talk(Dial(served.address()), name);
    EXPECT_TRUE(talk.Greet().has_refused()) << name;
  }
  EXPECT_EQ(served.Audited("name"), 5u);
}

TEST(Conversation, TheFirstMessageMustBeHello) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Beat());
  v1::ToParticipant nothing;
  EXPECT_FALSE(talk.Read(nothing));
  EXPECT_EQ(talk.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(served.Audited("malformed"), 1u);
}

TEST(Conversation, ASecondHelloAndAnEmptyMessageAreMalformed) {
  Served served;
  for (const bool empty : {false, true}) {
    Talk talk(Dial(served.address()), "north");
    ASSERT_TRUE(talk.Greet().has_welcome());
    v1::FromParticipant message;
    if (!empty) *message.mutable_hello() = talk.hello();
    ASSERT_TRUE(talk.Write(message));
    EXPECT_EQ(talk.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(served.Audited("malformed"), 2u);
}

TEST(Conversation, AnOlderLifeIsRefusedAndALaterOneReplacesIt) {
  Served served;
  Talk present(Dial(served.address()), "north", 5);
  ASSERT_TRUE(present.Greet().has_welcome());
  Talk older(Dial(served.address()), "north", 4);
  EXPECT_NE(older.Greet().refused().message().find("incarnation 4"), std::string::npos);
  EXPECT_EQ(served.LastRefusal().reason, "stale-incarnation");

  Talk later(Dial(served.address()), "north", 6);
  ASSERT_TRUE(later.Greet().has_welcome());
  EXPECT_EQ(later.welcome.learner(), present.welcome.learner());
  EXPECT_NE(later.welcome.token(), present.welcome.token());
  v1::ToParticipant nothing;
  EXPECT_FALSE(present.Read(nothing)) << "its stream is ended";
  EXPECT_EQ(present.Finish().error_code(), grpc::StatusCode::ABORTED);
}

TEST(Conversation, TheSameLifeMayComeAgainAndGoesOn) {
  Served served;
  Talk broken(Dial(served.address()), "north");
  ASSERT_TRUE(broken.Join(*served.models.schema()));
  Talk again(Dial(served.address()), "north");
  ASSERT_TRUE(again.Greet().has_welcome());
  v1::ToParticipant left;
  while (broken.Read(left)) continue;
  EXPECT_EQ(broken.Finish().error_code(), grpc::StatusCode::ABORTED);
  v1::FromParticipant ask;
  ask.mutable_request();
  ASSERT_TRUE(again.Write(ask));
  EXPECT_TRUE(again.Next(v1::ToParticipant::kCommunity).has_community()) << "without another join";
}

TEST(Conversation, AJoinThatTheFederationRefusesIsAudited) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Greet().has_welcome());
  v1::FromParticipant message;
  message.mutable_join()->set_schema_hash(1);
  ASSERT_TRUE(talk.Write(message));
  EXPECT_TRUE(talk.Next(v1::ToParticipant::kJoinRefused).has_join_refused());
  EXPECT_EQ(served.Audited("join"), 1u);
}

TEST(Conversation, NoMoreThanTheAllowedNumberAreConnected) {
  Served::Options options;
  options.network.max_connections = 1;
  Served served(options);
  {
    Talk first(Dial(served.address()), "north");
    ASSERT_TRUE(first.Greet().has_welcome());
    Talk second(Dial(served.address()), "east");
    const v1::Refused refused = second.Greet().refused();
    EXPECT_NE(refused.message().find("network.max_connections"), std::string::npos);
    EXPECT_TRUE(refused.retry()) << "a place may become free";
    EXPECT_EQ(served.LastRefusal().reason, "full");
    EXPECT_EQ(served.LastRefusal().name, "east");
  }
  EXPECT_TRUE(WaitFor([&] { return served.server->traffic().connected == 0; }));
  Talk third(Dial(served.address()), "west");
  EXPECT_TRUE(third.Greet().has_welcome()) << "once there is room again";
}

TEST(Conversation, WhoIsAwayAtTheEndIsDismissedOnceItComesBack) {
  Served served;
  Talk north(Dial(served.address()), "north");
  ASSERT_TRUE(north.Join(*served.models.schema()));
  {
    Talk east(Dial(served.address()), "east");
    ASSERT_TRUE(east.Join(*served.models.schema()));
  }
  ASSERT_TRUE(WaitFor([&] { return served.server->traffic().connected == 1; }));
  served.host->Command({federation::OperatorCommand::Kind::kStop, {}});
  EXPECT_TRUE(north.Next(v1::ToParticipant::kDismissed).has_dismissed());
  EXPECT_TRUE(
      WaitFor([&] { return served.server->dismissed() == std::set<LearnerId>{LearnerId(0)}; }));
  Talk east(Dial(served.address()), "east");
  ASSERT_TRUE(east.Greet().has_welcome());
  ASSERT_TRUE(east.Beat());
  EXPECT_TRUE(east.Next(v1::ToParticipant::kDismissed).has_dismissed());
  EXPECT_TRUE(WaitFor([&] { return served.server->dismissed().size() == 2; }));
}

TEST(Conversation, WhoseConversationBreaksAfterItsDismissalMayNotHaveHeardOfIt) {
  Served::Options options;
  options.heartbeat = Duration::Milliseconds(500);
  Served served(options);
  Talk silent(Dial(served.address()), "north");
  ASSERT_TRUE(silent.Join(*served.models.schema()));
  served.host->Command({federation::OperatorCommand::Kind::kStop, {}});
  ASSERT_TRUE(silent.Next(v1::ToParticipant::kDismissed).has_dismissed());
  EXPECT_TRUE(WaitFor([&] { return served.server->dismissed().empty(); }));
}

TEST(Conversation, MessagesHandedOverBeforeTheEndAreSaid) {
  Served served;
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  served.host->Command({federation::OperatorCommand::Kind::kStop, {}});
  served.Ask([](const auto&) { return 0; });
  served.server->Shutdown(Duration::Seconds(30));
  EXPECT_EQ(talk.Next(v1::ToParticipant::kDismissed).dismissed().reason(),
            "the federation has finished");
}

TEST(ControllerServer, PlaintextIsForLoopbackOnly) {
  federation::Models models;
  drivers::MemoryEventLog log;
  auto host =
      drivers::ControllerProcess::Open(
          {.settings = federation::SettingsFor("async-fedavg", 3), .initial = models.From(1)},
          models.pool(), log, nullptr, nullptr)
          .value();
  ControllerServerOptions options;
  options.settings.listen = "0.0.0.0:0";
  auto open = ControllerServer::Start(options, *host, models.pool());
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().message.find("0.0.0.0:0"), std::string::npos);
  options.settings.listen = "nowhere";
  EXPECT_FALSE(ControllerServer::Start(options, *host, models.pool()).ok());
}

TEST(ControllerServer, APortInUseIsAnErrorThatNamesIt) {
  Served served;
  ControllerServerOptions options;
  options.settings.listen = served.address();
  options.heartbeat = Duration::Seconds(10);
  auto second = ControllerServer::Start(options, *served.host, served.models.pool());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find(served.address()), std::string::npos);
}

}  // namespace
}  // namespace metis::rpc
