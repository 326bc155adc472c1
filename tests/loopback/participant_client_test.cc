#include "metis/rpc/participant_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "metis/rpc/testing.h"
#include "tests/loopback/participant.h"

namespace metis::rpc {
namespace {

using federation::SendCommunity;
using testing::HasSubstr;

TEST_F(ParticipantClientTest, IsWelcomedAndTellsWhoItIs) {
  controller_.welcome.set_encoding(v1::ENCODING_ZSTD);
  Connect();
  EXPECT_EQ(client_->welcome().learner, kSelf);
  EXPECT_EQ(client_->welcome().federation, "test");
  EXPECT_EQ(client_->welcome().config_toml, "[policy]\n");
  EXPECT_EQ(client_->welcome().schema->hash(), pool_.schema()->hash());
  EXPECT_EQ(client_->welcome().encoding, wire::Encoding::kZstd);
  EXPECT_TRUE(client_->connected());
  v1::Hello hello;
  ASSERT_TRUE(controller_.Await([&] {
    if (controller_.heard.empty()) return false;
    hello = controller_.heard[0].hello();
    return true;
  }));
  EXPECT_EQ(hello.name(), "site-3");
  EXPECT_EQ(hello.incarnation(), kLife.value());
  EXPECT_EQ(hello.newest_version(), wire::kNewestWire);
  EXPECT_EQ(hello.program(), "metis test");
}

TEST_F(ParticipantClientTest, ARefusalIsAnErrorInTheControllersWords) {
  controller_.refusal = "the name is taken";
  controller_.Start();
  EXPECT_THAT(ConnectError(Options()),
              testing::AllOf(HasSubstr("the name is taken"), HasSubstr("site-3")));
}

TEST_F(ParticipantClientTest, ARefusalForNowIsTriedAgainUntilItIsWelcomed) {
  controller_.not_now = 2;
  Connect();
  EXPECT_TRUE(client_->connected());
  EXPECT_THAT(said(), HasSubstr("does not take us now (all places are taken): dialling again"));
  // After a reconnect it is no end either.
  controller_.Stop();
  controller_.not_now = 1;
  controller_.Start();
  ASSERT_TRUE(controller_.Await([&] { return controller_.conversations == 5; }));
  EXPECT_TRUE(gone_.empty());
}

TEST_F(ParticipantClientTest, WhatCanNotWorkIsNotDialled) {
  controller_.Start();
  ParticipantClientOptions options = Options();
  options.controller.host = "controller.example.org";
  EXPECT_THAT(ConnectError(options), HasSubstr("in the clear"));
  options = Options();
  options.name = "no name";
  EXPECT_THAT(ConnectError(options), HasSubstr("no name"));
  options = Options();
  options.credentials = MakeCredentials(MakeCa(), "site-4");
  EXPECT_THAT(ConnectError(options), HasSubstr("site-4"));
  EXPECT_EQ(controller_.conversations, 0u);
}

TEST_F(ParticipantClientTest, KeepsDiallingAnAbsentControllerUntilItIsStopped) {
  controller_.Start();
  controller_.Stop();  // nobody listens at its port any more
  std::stop_source stop;
  std::atomic<int> dialled = 0;
  ParticipantClientOptions options = Options();
  options.say = [&](const std::string& text) {
    if (text.find("dialling again") != std::string::npos && ++dialled == 3) stop.request_stop();
  };
  Result<std::unique_ptr<ParticipantClient>> client =
      ParticipantClient::Connect(options, stop.get_token());
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("stopped before"));
  EXPECT_GE(dialled, 3);
}

TEST_F(ParticipantClientTest, MessagesTravelInOrderBothWays) {
  Connect();
  for (uint64_t epoch = 1; epoch <= 50; ++epoch) {
    client_->Send(federation::EpochReported{kSelf, kLife, 2, epoch});
  }
  ASSERT_TRUE(controller_.Await([&] { return Heard(v1::FromParticipant::kEpoch) == 50; }));
  uint64_t next = 1;
  controller_.Change([&] {
    for (const v1::FromParticipant& message : controller_.heard) {
      if (!message.has_epoch()) continue;
      EXPECT_EQ(message.epoch().epoch(), next++);
    }
  });
  for (uint64_t steps = 1; steps <= 50; ++steps) {
    controller_.Say(*wire::EncodeAction(federation::ReportSteps{kSelf, kLife, steps}, 0));
  }
  for (uint64_t steps = 1; steps <= 50; ++steps) {
    EXPECT_EQ(inbox_.Nth<federation::ReportSteps>(steps).committed_steps, steps);
  }
}

TEST_F(ParticipantClientTest, HeartbeatsGoOnByThemselves) {
  controller_.Start();
  ParticipantClientOptions options = Options();
  options.heartbeat = Duration::Milliseconds(20);
  Dial(options);
  EXPECT_TRUE(controller_.Await([&] { return Heard(v1::FromParticipant::kHeartbeat) >= 3; }));
}

TEST_F(ParticipantClientTest, ASilentControllerIsLeftAndDialledAgain) {
  Connect();
  controller_.Change([&] { controller_.silent = true; });
  EXPECT_TRUE(controller_.Await([&] { return controller_.conversations >= 2; }));
  controller_.Change([&] { controller_.silent = false; });
  EXPECT_THAT(said(), HasSubstr("nothing was heard"));
}

TEST_F(ParticipantClientTest, ReconnectsWhenTheControllerComesBack) {
  Connect();
  controller_.Stop();
  // Dropped without harm, while nobody is there.
  client_->Send(federation::EpochReported{kSelf, kLife, 1, 1});
  client_->Send(Update(1, 4));
  controller_.Start();
  ASSERT_TRUE(controller_.Await([&] { return controller_.conversations == 2; }));
  // The update was kept: it is there without being sent again.
  EXPECT_TRUE(controller_.Await([&] { return controller_.received.size() == 1; }));
  controller_.Say(*wire::EncodeAction(federation::AcceptJoin{kSelf, kLife}, 0));
  inbox_.Nth<federation::AcceptJoin>(1);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(ParticipantClientTest, AConnectionThatBroughtAModelIsDialledAgainSoonHoweverShortItWas) {
  constexpr size_t kBreaks = 3;
  ParticipantClientOptions options = Options();
  options.first_pause = Duration::Milliseconds(300);
  options.longest_pause = Duration::Minutes(1);
  std::vector<double> pauses;
  options.say = [&](const std::string& text) {
    constexpr std::string_view kBefore = "dialling again in ";
    const size_t at = text.find(kBefore);
    std::scoped_lock lock(mutex_);
    if (at != std::string::npos) pauses.push_back(std::stod(text.substr(at + kBefore.size())));
  };
  controller_.Start();
  options.controller.port = controller_.port();
  Dial(std::move(options));
  for (size_t k = 1; k <= kBreaks; ++k) {
    controller_.Offer(Community(k, static_cast<float>(k)));
    inbox_.Nth<federation::SendCommunity>(k);
    controller_.Change([&] { controller_.hang_up = true; });
    client_->Send(federation::EpochReported{kSelf, kLife, 1, 1});
    ASSERT_TRUE(controller_.Await([&] { return controller_.conversations == k + 1; }));
  }
  client_->Close(Duration());  // it speaks to `pauses` until then
  ASSERT_EQ(pauses.size(), kBreaks);
  EXPECT_LT(pauses.back(), 0.45) << "grown by breaks of connections that did their work";
}

TEST_F(ParticipantClientTest, AnotherFederationAtTheSameAddressIsTheEnd) {
  Connect();
  controller_.Stop();
  controller_.welcome.set_federation("another");
  controller_.Start();
  inbox_.Nth<federation::Dismiss>(1);
  ASSERT_EQ(gone_.size(), 1u);
  EXPECT_THAT(gone_[0], testing::AllOf(HasSubstr("another"), HasSubstr("test")));
}

TEST_F(ParticipantClientTest, ARefusalAfterAReconnectIsTheEnd) {
  Connect();
  controller_.Stop();
  controller_.refusal = "stale-incarnation";
  controller_.Start();
  inbox_.Nth<federation::Dismiss>(1);
  ASSERT_EQ(gone_.size(), 1u);
  EXPECT_THAT(gone_[0], HasSubstr("stale-incarnation"));
}

TEST_F(ParticipantClientTest, ClosingSaysTheFarewellFirst) {
  Connect();
  for (uint64_t epoch = 1; epoch <= 20; ++epoch) {
    client_->Send(federation::EpochReported{kSelf, kLife, 2, epoch});
  }
  client_->Send(federation::LearnerLeft{kSelf, kLife});
  client_->Close(Duration::Seconds(60));
  ASSERT_TRUE(controller_.Await([&] { return controller_.hung_up == 1; }));
  EXPECT_EQ(Heard(v1::FromParticipant::kEpoch), 20u);
  EXPECT_TRUE(controller_.heard.back().has_leave());
  EXPECT_FALSE(client_->connected());
  client_->Send(federation::EpochReported{kSelf, kLife, 3, 1});  // dropped
}

TEST_F(ParticipantClientTest, ClosingInTheMiddleOfTransfersEndsThem) {
  controller_.hold_downloads = true;
  Connect();
  controller_.Offer(Community(1, 1));
  client_->Send(Update(1, 2));
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 1; }));
  client_.reset();
}

TEST_F(ParticipantClientTest, UnderTlsBothSidesProveTheirNames) {
  const Identity ca = MakeCa();
  const auto serve = [&](const std::string& name) {
    const Credentials own = MakeCredentials(ca, name);
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = own.ca;
    options.pem_key_cert_pairs = {{own.key, own.certificate}};
    controller_.Stop();
    controller_.Start(grpc::SslServerCredentials(options));
  };
  serve("localhost");
  ParticipantClientOptions options = Options();
  options.controller.host = "localhost";
  options.credentials = MakeCredentials(ca, "site-3");
  Dial(options);
  const SendCommunity offered = Community(1, 1);
  controller_.Offer(offered);
  EXPECT_EQ(inbox_.Nth<SendCommunity>(1).model->Fingerprint(), offered.model->Fingerprint());
  client_.reset();

  for (const char* authority : {"test CA", "another CA"}) {
    ParticipantClientOptions stranger = options;
    stranger.credentials = MakeCredentials(MakeCa(authority), "site-3");
    EXPECT_THAT(ConnectError(stranger), HasSubstr("not signed by the CA"));
  }
  serve("elsewhere.example.org");
  EXPECT_THAT(ConnectError(options), HasSubstr("for another host"));
  controller_.Stop();
  controller_.Start();
  EXPECT_THAT(ConnectError(options), HasSubstr("speaks no TLS"));
}

}  // namespace
}  // namespace metis::rpc
