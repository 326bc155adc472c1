// Operators: who may, what they are answered, and that a status waits for nobody.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "metis/rpc/operator_client.h"
#include "proto/metis/v1/operations.grpc.pb.h"
#include "tests/loopback/raw_client.h"
#include "tests/loopback/sites.h"

namespace metis::rpc {
namespace {

using Kind = federation::OperatorCommand::Kind;
using testing::HasSubstr;

// A short name: a socket's path has little room.
std::string SocketPath() {
  static int count = 0;
  return Text("/tmp/metis-test-", ::getpid(), "-", ++count, ".sock");
}

Served::Options WithOperators(Served::Options options = {}) {
  options.control = SocketPath();
  options.operators.status = [] { return std::string(R"({"version": 7})"); };
  return options;
}

// A federation with a socket for operators, whose models can be exported.
class Operated {
 public:
  explicit Operated(Served::Options options = {}) : served(Ready(std::move(options))) {}
  ~Operated() { release_.set_value(); }

  Served::Options Ready(Served::Options options) {
    options = WithOperators(std::move(options));
    socket = options.control;
    options.operators.export_model = [this](bool best,
                                            std::function<void(Result<ExportedModel>)> answer) {
      if (best) return answer(NotFound("nothing was tested"));
      served.host->Look([answer](const federation::Controller& controller, Instant) {
        answer(ExportedModel{controller.community(), R"({"colour": "red"})", "{}"});
      });
    };
    return options;
  }
  // Holds the controller's loop until it is let go.
  void HoldTheLoop() {
    std::promise<void> holding;
    served.host->Look([&, until = release_.get_future().share()](const auto&, Instant) {
      holding.set_value();
      until.wait();
    });
    holding.get_future().wait();
  }
  void LetTheLoopGo() {
    release_.set_value();
    release_ = {};
  }
  void Update(Talk& talk, const std::shared_ptr<grpc::Channel>& channel, uint64_t sequence,
              float value) {
    const ModelPtr model = served.Make(value);
    EXPECT_TRUE(UploadWhole(channel, OpeningOf(talk, model, sequence), model).end.ok());
    EXPECT_EQ(talk.Next(v1::ToParticipant::kAcknowledged).acknowledged().update().sequence(),
              sequence);
  }
  uint64_t Requests() {
    return served.Ask([](const auto& controller) { return controller.statistics().requests; });
  }
  uint64_t Community() {
    return served.Ask([](const auto& controller) { return controller.community()->Fingerprint(); });
  }
  uint64_t StateHash() {
    return served.Ask([](const auto& controller) { return controller.StateHash(); });
  }

  std::string socket;
  Served served;

 private:
  std::promise<void> release_;
};

// --- Who may

TEST(Operations, TheSocketIsItsUsersAlone) {
  Operated operated;
  struct stat found {};
  ASSERT_EQ(::stat(operated.socket.c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
  EXPECT_EQ(OperatorClient(operated.socket).Status().value(), R"({"version": 7})");
}

TEST(Operations, TheSocketGoesWithTheServer) {
  std::string socket;
  {
    Operated operated;
    socket = operated.socket;
  }
  EXPECT_NE(::access(socket.c_str(), F_OK), 0);
  Result<std::string> status = OperatorClient(socket).Status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(status.error().message, HasSubstr(socket));
}

TEST(Operations, WithoutCertificatesLoopbackMayOperate) {
  Operated operated;
  OperatorClient client(HostPort{"127.0.0.1", operated.served.server->port()}, std::nullopt);
  EXPECT_TRUE(client.Status());
}

TEST(Operations, ALearnersCertificateMayNotOperate) {
  const Identity ca = MakeCa();
  Served::Options options;
  options.credentials = MakeCredentials(ca, "localhost");
  Operated operated(std::move(options));
  const uint64_t before = operated.StateHash();
  OperatorClient client(HostPort{"localhost", operated.served.server->port()},
                        MakeCredentials(ca, "north"));
  for (const Error& error :
       {client.Status().error(), client.Command(Kind::kStop, "").error(),
        client.Command(Kind::kWithdraw, "east").error(), client.Export(false).error()}) {
    EXPECT_THAT(error.message, HasSubstr("north may not operate this federation"));
  }
  EXPECT_EQ(operated.StateHash(), before);
  EXPECT_EQ(operated.served.Audited("role"), 4u);
  EXPECT_EQ(operated.served.LastRefusal().name, "north");
  EXPECT_THAT(operated.served.LastRefusal().peer, HasSubstr("127.0.0.1"));
  EXPECT_EQ(operated.served.server->traffic().refusals, 4u);
  EXPECT_TRUE(OperatorClient(operated.socket).Command(Kind::kPause, ""));  // its own machine may
}

TEST(Operations, ParticipantsAreRefusedOnTheSocket) {
  Operated operated;
  const uint64_t before = operated.StateHash();
  const std::shared_ptr<grpc::Channel> channel = Dial("unix:" + operated.socket);
  Talk talk(channel, "north");
  EXPECT_FALSE(talk.Greet().has_welcome());
  const grpc::Status end = talk.Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(end.error_message(), HasSubstr("participants join at its address"));
  for (const char* method : {"Upload", "Download"}) {
    Transfer transfer(channel, method);
    EXPECT_FALSE(transfer.Read());
    EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  EXPECT_EQ(operated.served.Audited("local"), 3u);
  EXPECT_EQ(operated.StateHash(), before);
}

// --- Status

TEST(Operations, AStatusDoesNotWaitForTheLoop) {
  Operated operated;
  operated.HoldTheLoop();
  OperatorClient client(operated.socket);
  EXPECT_TRUE(client.Status());
  std::future<Result<drivers::Commanded>> paused =
      std::async(std::launch::async, [&] { return client.Command(Kind::kPause, ""); });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(client.Status());
  EXPECT_EQ(operated.served.Audited("command"), 0u);  // a command does wait
  operated.LetTheLoopGo();
  EXPECT_TRUE(paused.get());
}

TEST(Operations, AControllerWithoutHooksSaysSo) {
  Served served;
  OperatorClient client(HostPort{"127.0.0.1", served.server->port()}, std::nullopt);
  EXPECT_THAT(client.Status().error().message, HasSubstr("shows no status"));
  EXPECT_THAT(client.Export(false).error().message, HasSubstr("exports no models"));
}

// --- Commands

TEST(Operations, ACommandIsAnsweredAndAskingTwiceChangesNothing) {
  Operated operated;
  OperatorClient client(operated.socket);
  EXPECT_THAT(client.Command(Kind::kResume, "")->message, HasSubstr("no operator had paused it"));
  EXPECT_THAT(client.Command(Kind::kPause, "")->message, HasSubstr("paused"));
  const uint64_t paused = operated.StateHash();
  EXPECT_THAT(client.Command(Kind::kPause, "")->message, HasSubstr("already"));
  EXPECT_EQ(operated.StateHash(), paused);
  EXPECT_THAT(client.Command(Kind::kResume, "")->message, HasSubstr("resumed"));
  EXPECT_THAT(client.Command(Kind::kStop, "")->message, HasSubstr("finished with version 0"));
  EXPECT_THAT(client.Command(Kind::kStop, "")->message, HasSubstr("has finished (operator)"));
  EXPECT_THAT(client.Command(Kind::kPause, "")->message, HasSubstr("has finished (operator)"));
  EXPECT_EQ(operated.served.Audited("command"), 7u);
  EXPECT_EQ(operated.served.server->traffic().refusals, 0u);
}

TEST(Operations, PausedUpdatesAreTakenInAndCommittedOnceItIsResumed) {
  Operated operated;
  const std::shared_ptr<grpc::Channel> channel = Dial(operated.served.address());
  Talk north(channel, "north");
  ASSERT_TRUE(north.Join(*operated.served.models.schema(), 30));
  OperatorClient client(operated.socket);
  ASSERT_TRUE(client.Command(Kind::kPause, ""));
  operated.Update(north, channel, 1, 1);
  EXPECT_EQ(operated.Requests(), 0u);
  Result<drivers::Commanded> resumed = client.Command(Kind::kResume, "");
  EXPECT_EQ(resumed->version, Version(1));
  EXPECT_EQ(operated.Requests(), 1u);
}

TEST(Operations, AnUnknownLearnerIsNamedAndTheNearestOneSaid) {
  Operated operated;
  const std::shared_ptr<grpc::Channel> channel = Dial(operated.served.address());
  Talk north(channel, "north");
  ASSERT_TRUE(north.Join(*operated.served.models.schema(), 30));
  OperatorClient client(operated.socket);
  Result<drivers::Commanded> outcome = client.Command(Kind::kWithdraw, "nort");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(outcome.error().message, HasSubstr("did you mean north?"));
  EXPECT_THAT(client.Command(Kind::kWithdraw, "somebody").error().message,
              HasSubstr("those who ever joined: north"));
  outcome = client.Command(Kind::kWithdraw, "north");  // it is there, its model is not
  EXPECT_THAT(outcome->message, HasSubstr("north has no model in the community"));
  EXPECT_EQ(outcome->version, Version(0));
}

TEST(Operations, FedAsyncCannotWithdraw) {
  Served::Options options;
  options.policy = "fedasync";
  Operated operated(std::move(options));
  EXPECT_THAT(OperatorClient(operated.socket).Command(Kind::kWithdraw, "north").error().message,
              HasSubstr("FedAsync"));
}

// The law of a withdrawal: the community is, bit for bit, one that never held that model.
TEST(Operations, AfterAWithdrawalTheCommunityIsOneThatNeverHeldTheModel) {
  uint64_t never = 0;
  for (const bool held : {false, true}) {
    Operated operated;
    const ModelSchema& schema = *operated.served.models.schema();
    const std::shared_ptr<grpc::Channel> a = Dial(operated.served.address());
    const std::shared_ptr<grpc::Channel> b = Dial(operated.served.address());
    const std::shared_ptr<grpc::Channel> c = Dial(operated.served.address());
    Talk north(a, "north"), east(b, "east"), west(c, "west");
    ASSERT_TRUE(north.Join(schema, 30));
    ASSERT_TRUE(east.Join(schema, 71));
    ASSERT_TRUE(west.Join(schema, 13));
    operated.Update(north, a, 1, 0.3f);
    if (held) operated.Update(east, b, 1, -1.7f);
    operated.Update(west, c, 1, 2.9f);
    if (held) operated.Update(east, b, 2, 5.1f);
    operated.Update(north, a, 2, 0.7f);
    const uint64_t updates = held ? 5 : 3;
    ASSERT_TRUE(WaitFor([&] { return operated.Requests() == updates; }));
    if (!held) {
      never = operated.Community();
      continue;
    }
    EXPECT_NE(operated.Community(), never);
    OperatorClient client(operated.socket);
    Result<drivers::Commanded> outcome = client.Command(Kind::kWithdraw, "east");
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_THAT(outcome->message, HasSubstr("east's model is out of the community: version 6"));
    EXPECT_THAT(outcome->message, HasSubstr("its next update puts a model in again"));
    EXPECT_EQ(outcome->version, Version(6));
    EXPECT_EQ(operated.Community(), never);
    EXPECT_THAT(client.Command(Kind::kWithdraw, "east")->message, HasSubstr("has no model"));
    EXPECT_EQ(operated.Community(), never);
  }
}

TEST(Operations, ACommandToAControllerThatEndsIsAnsweredAllTheSame) {
  Operated operated;
  operated.HoldTheLoop();
  OperatorClient client(operated.socket);
  std::future<Result<drivers::Commanded>> paused =
      std::async(std::launch::async, [&] { return client.Command(Kind::kPause, ""); });
  std::future<void> stopping =
      std::async(std::launch::async, [&] { operated.served.server->Shutdown(Duration()); });
  operated.LetTheLoopGo();
  stopping.get();
  (void)paused.get();  // either way: what counts is that it ends
}

// --- Export

TEST(Operations, AnExportedModelArrivesWhole) {
  Served::Options options;
  options.parameters = 900'001;  // several parts, the last one short
  Operated operated(std::move(options));
  OperatorClient client(operated.socket);
  Result<FetchedModel> fetched = client.Export(false);
  ASSERT_TRUE(fetched) << fetched.error().message;
  const ModelPtr community =
      operated.served.Ask([](const auto& controller) { return controller.community(); });
  EXPECT_EQ(fetched->fingerprint, community->Fingerprint());
  EXPECT_EQ(fetched->facts_json, R"({"colour": "red"})");
  ASSERT_EQ(fetched->data.size(), community->bytes().size());
  EXPECT_EQ(std::memcmp(fetched->data.data(), community->bytes().data(), fetched->data.size()), 0);
  EXPECT_EQ(operated.served.Audited("export"), 1u);
  EXPECT_THAT(client.Export(true).error().message, HasSubstr("nothing was tested"));
}

TEST(Operations, AnExportThatIsNotReadIsDropped) {
  Served::Options options;
  options.parameters = 12'000'001;  // more than the windows hold
  options.network.stalled = Duration::Seconds(1);
  Operated operated(std::move(options));
  const std::shared_ptr<grpc::Channel> channel = Dial("unix:" + operated.socket);
  const std::unique_ptr<v1::Operations::Stub> stub = v1::Operations::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kBound);
  const auto parts = stub->Export(&context, v1::ExportRequest());
  v1::ExportPart part;
  ASSERT_TRUE(parts->Read(&part));
  EXPECT_TRUE(operated.served.WaitAudited("stalled"));  // it does not read
  while (parts->Read(&part)) continue;
  EXPECT_EQ(parts->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace metis::rpc
