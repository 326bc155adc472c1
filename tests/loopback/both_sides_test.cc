// Participants and the controller's own server: what one side says is what the other hears.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "metis/drivers/event_log.h"
#include "metis/drivers/processes.h"
#include "metis/policy/policy.h"
#include "metis/rpc/controller_server.h"
#include "tests/loopback/participant.h"

namespace metis::rpc {
namespace {

TEST(BothSides, ALearnerJoinsSendsItsUpdateAndIsAnsweredWithTheNextModel) {
  ModelPool pool(TestSchema());
  drivers::MemoryEventLog log;
  drivers::ControllerHostOptions options;
  options.settings.policy = *policy::PolicyNamed("async-fedavg");
  options.settings.membership.learners = 1;
  const ModelPtr initial = pool.Zero();
  options.initial = initial;
  auto host = drivers::ControllerProcess::Open(std::move(options), pool, log, nullptr,
                                               [](const std::string&) {});
  ASSERT_TRUE(host) << host.error().message;
  ControllerServerOptions serving;
  serving.settings.listen = "127.0.0.1:0";
  serving.federation = "both";
  serving.heartbeat = Duration::Seconds(60);
  auto server = ControllerServer::Start(serving, **host, pool);
  ASSERT_TRUE(server) << server.error().message;
  (*host)->Start(**server);

  ParticipantClientOptions dialling;
  dialling.controller = HostPort{"127.0.0.1", (*server)->port()};
  dialling.name = "site-3";
  dialling.incarnation = kLife;
  dialling.heartbeat = Duration::Seconds(60);
  auto client = ParticipantClient::Connect(dialling, {});
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ((*client)->welcome().federation, "both");
  const LearnerId self = (*client)->welcome().learner;
  Inbox inbox;
  (*client)->Attach(inbox, pool, [](const Error& error) { ADD_FAILURE() << error.message; });

  federation::LearnerJoined joined;
  joined.learner = self;
  joined.incarnation = kLife;
  joined.name = "site-3";
  joined.training_examples = 10;
  joined.schema_hash = pool.schema()->hash();
  (*client)->Send(joined);
  inbox.Nth<federation::AcceptJoin>(1);
  const auto first = inbox.Nth<federation::SendCommunity>(2);
  ASSERT_NE(first.model, nullptr);
  EXPECT_EQ(first.model->Fingerprint(), initial->Fingerprint());

  ModelDraft draft = pool.Draft();
  for (size_t i = 0; i < kParameters; ++i) draft.parameters()[i] = static_cast<float>(i % 7);
  federation::UpdateReceived update;
  update.id = {self, kLife, Sequence(1)};
  update.base = first.version;
  update.steps = 5;
  update.model = std::move(draft).Seal();
  (*client)->Send(update);
  // The acknowledgement has no model to wait for.
  EXPECT_EQ(inbox.Nth<federation::AcknowledgeUpdate>(3).id, update.id);
  const auto second = inbox.Nth<federation::SendCommunity>(4);
  ASSERT_NE(second.model, nullptr);
  EXPECT_EQ(second.answers, Sequence(1));
  EXPECT_EQ(second.model->parameters()[6], 6) << "of one learner the community model is its own";

  (*client)->Send(federation::LearnerLeft{self, kLife});
  (*client)->Close(Duration::Seconds(60));
  size_t left = 0;
  for (int tries = 0; tries < 6000 && left == 0; ++tries) {
    left = (*server)->traffic().connected == 0 ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(left, 1u) << "the server still counts the participant";
  (*server)->Shutdown(Duration::Seconds(1));
  (*host)->Stop();
}

}  // namespace
}  // namespace metis::rpc
