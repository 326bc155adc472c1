// Who gets a certificate, what it is good for, and how it ends, over loopback with a real
// authority: every refusal is said in the answer and in the audit, and changes neither the
// authority's books nor the federation.
#include "tests/loopback/enrolment.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "metis/authority/authority.h"
#include "metis/authority/certificates.h"
#include "metis/rpc/enrol.h"
#include "metis/rpc/testing.h"
#include "proto/metis/v1/operations.grpc.pb.h"
#include "tests/loopback/participant.h"
#include "tests/loopback/raw_client.h"

namespace metis::rpc {
namespace {

using testing::HasSubstr;

TEST_F(Enrolment, AnInvitedSiteJoinsWithTheCertificateThatItGets) {
  Result<Credentials> site = Enrol(Invite("site-3"));
  ASSERT_TRUE(site) << site.error().message;
  ASSERT_TRUE(WaitFor([&] { return served_->Audited("enrolled") == 1; }));
  EXPECT_EQ(served_->LastRefusal().name, "site-3");
  EXPECT_THAT(served_->LastRefusal().message, HasSubstr(ReadPeer(site->certificate).serial));
  auto channel = DialAs(*site);
  Talk talk(channel, "site-3");
  ASSERT_TRUE(talk.Join(schema()));
  const ModelPtr model = served_->Make(1);
  EXPECT_TRUE(UploadWhole(channel, OpeningOf(talk, model), model).end.ok());
  Talk other(channel, "site-4");
  EXPECT_THAT(other.Greet().refused().message(), HasSubstr("which says: site-3"));
}

TEST_F(Enrolment, UsedExpiredGuessedAndOtherNamesTokensAreRefused) {
  const Token used = Invite("used"), expired = Invite("expired"), mine = Invite("mine");
  ASSERT_TRUE(Enrol(used));
  ExpectRefused([&] { return RefusalOf(used); }, "has been used", "enrol-used", "used");
  Token guessed = mine;
  guessed.secret.assign(authority::kSecretBytes, 'g');
  ExpectRefused([&] { return RefusalOf(guessed); }, "no such invitation", "enrol-invitation",
                "mine");
  Token other = mine;
  other.name = "controller";
  ExpectRefused([&] { return RefusalOf(other); }, "another name than \"controller\"", "enrol-name",
                "controller");
  other.name = "a\nname";
  ExpectRefused([&] { return RefusalOf(other); }, "is no name for a participant", "enrol-malformed",
                "a?name");
  ASSERT_TRUE(authority_->Revoke("mine"));
  ExpectRefused([&] { return RefusalOf(mine); }, "was withdrawn", "enrol-withdrawn", "mine");
  now_ += 3600;
  ExpectRefused([&] { return RefusalOf(expired); }, "has expired", "enrol-expired", "expired");
}

TEST_F(Enrolment, ALostAnswerIsGivenAgainToTheSameKey) {
  const Token token = Invite("site-3");
  const std::string key = authority::MakeKey();
  const std::string first = Enrol(token, key).value().certificate;
  EXPECT_EQ(Enrol(token, key).value().certificate, first);
  EXPECT_EQ(served_->Audited("enrolled"), 2u);
}

TEST_F(Enrolment, ATokenOfAnotherFederationIsRefusedBeforeAnythingIsSaid) {
  const std::unique_ptr<Authority> another = MakeAuthority("another");
  const Token token = authority::ParseToken(
                          another->Invite("site-3", Role::kLearner, Duration::Hours(1), "").value())
                          .value();
  const std::string before = Standing();
  EXPECT_THAT(RefusalOf(token), HasSubstr("not of the federation that the token invites to"));
  EXPECT_EQ(Standing(), before);
  EXPECT_EQ(served_->Audited("enrolled"), 0u);
}

TEST_F(Enrolment, WithoutACertificateNoOtherMethodIsAnswered) {
  const Credentials nobody{authority_->certificate(), "", "", {}};
  const auto converse = [&] {
    Talk talk(DialAs(nobody, false), "site-3");
    talk.Greet();
    return talk.Finish().error_message();
  };
  ExpectRefused(converse, "no certificate was shown", "certificate", "");
  for (const char* method : {"Upload", "Download"}) {
    const auto transfer = [&] {
      Transfer transfer(DialAs(nobody, false), method);
      const grpc::Status status = transfer.Finish();
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
      return status.error_message();
    };
    ExpectRefused(transfer, "no certificate was shown", "certificate", "");
  }
}

TEST_F(Enrolment, ACertificateOfAnotherAuthorityIsNoneHere) {
  const std::unique_ptr<Authority> another = MakeAuthority("another");
  const Token token = authority::ParseToken(
                          another->Invite("site-3", Role::kLearner, Duration::Hours(1), "").value())
                          .value();
  const std::string key = authority::MakeKey();
  const std::string certificate =
      another->Enrol("site-3", token.secret, authority::MakeRequest(key, "site-3").value())
          .certificate;
  Talk talk(DialAs({authority_->certificate(), certificate, key, {"site-3"}}), "site-3");
  EXPECT_FALSE(talk.Greet().has_welcome());
  EXPECT_FALSE(talk.Finish().ok());
  EXPECT_TRUE(served_->WaitAudited("tls"));
}

TEST_F(Enrolment, ARoleIsGoodForItselfAlone) {
  const Credentials learner = Enrol(Invite("site-3")).value();
  const Credentials observer = Enrol(Invite("watcher", Role::kObserver)).value();
  const Credentials admin = Enrol(Invite("alice", Role::kAdmin)).value();
  const auto greet = [&](const Credentials& as, v1::Role role) {
    Talk talk(DialAs(as), as.names.front());
    talk.hello().set_role(role);
    const v1::ToParticipant answer = talk.Greet();
    return answer.has_welcome() ? std::string("welcome") : answer.refused().message();
  };
  EXPECT_EQ(greet(learner, v1::ROLE_LEARNER), "welcome");
  EXPECT_EQ(greet(observer, v1::ROLE_OBSERVER), "welcome");
  ExpectRefused([&] { return greet(learner, v1::ROLE_OBSERVER); },
                "is for the role learner, not observer", "role", "site-3");
  ExpectRefused([&] { return greet(observer, v1::ROLE_LEARNER); },
                "is for the role observer, not learner", "role", "watcher");
  ExpectRefused([&] { return greet(admin, v1::ROLE_LEARNER); },
                "is for the role admin, not learner", "role", "alice");
}

TEST_F(Enrolment, ARevokedLearnersLiveStreamsEndAndItCannotComeBack) {
  const Credentials site = Enrol(Invite("site-3")).value();
  const Credentials other = Enrol(Invite("site-4")).value();
  Talk stays(DialAs(other), "site-4");
  ASSERT_TRUE(stays.Join(schema()));
  auto channel = DialAs(site);
  Talk talk(channel, "site-3");
  ASSERT_TRUE(talk.Join(schema()));
  Transfer upload(channel, "Upload");
  const ModelPtr model = served_->Make(1);
  ASSERT_TRUE(upload.Open(OpeningOf(talk, model)));
  ASSERT_TRUE(upload.Read());  // the controller waits for the rest of the model
  const uint64_t version = served_->Ask([](const auto& c) { return c.version().value(); });

  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(Authority::Open(Path("authority")).value()->Revoke("site-3"));  // another process
  v1::ToParticipant message;
  while (talk.Read(message)) continue;
  const grpc::Status end = talk.Finish();
  const auto took = std::chrono::steady_clock::now() - begin;
  std::cout << "the conversation ended after "
            << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms\n";
  EXPECT_EQ(end.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(end.error_message(), HasSubstr("the certificate of site-3"));
  EXPECT_THAT(end.error_message(), HasSubstr("was revoked"));
  EXPECT_EQ(upload.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(WaitFor([&] { return served_->Audited("revoked") == 2; }));
  EXPECT_EQ(served_->LastRefusal().name, "site-3");
  EXPECT_EQ(served_->Ask([](const auto& c) { return c.version().value(); }), version);

  const auto again = [&] {
    Talk back(DialAs(site), "site-3", 2);
    back.Greet();
    return back.Finish().error_message();
  };
  ExpectRefused(again, "was revoked", "revoked", "site-3");
  ASSERT_TRUE(stays.Beat()) << "others go on";
  EXPECT_TRUE(stays.Next(v1::ToParticipant::kHeartbeat).has_heartbeat());
}

TEST_F(Enrolment, ARevokedParticipantIsToldAndDialsNoMore) {
  ParticipantClientOptions options;
  options.controller = controller();
  options.credentials = Enrol(Invite("site-3")).value();
  options.name = "site-3";
  options.incarnation = Incarnation(1);
  options.first_pause = Duration::Milliseconds(5);
  const auto client = ParticipantClient::Connect(options, {}).value();
  Inbox inbox;
  std::mutex mutex;
  std::condition_variable changed;
  std::string words;
  client->Attach(inbox, served_->models.pool(), [&](const Error& error) {
    std::scoped_lock lock(mutex);
    words = error.message;
    changed.notify_all();
  });
  ASSERT_TRUE(authority_->Revoke("site-3"));
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kBound, [&] { return !words.empty(); }));
  }
  EXPECT_THAT(words, HasSubstr("was revoked"));
  client->Close(Duration());
}

// --- An authority that behaves as a test wants

class FakeAuthority final : public CertificateAuthority {
 public:
  const std::string& certificate() const override { return certificate_; }
  Verdict Enrol(const std::string&, const std::string&, const std::string&) override {
    ++asked;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    Verdict verdict;
    verdict.reason = "failed";
    verdict.message = "the disk of the authority is full";
    return verdict;
  }
  Result<bool> IsRevoked(const std::string&) override {
    ++looked;
    if (readable) return false;
    return Unavailable("unreadable books");
  }
  void Open() {
    std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  std::atomic<int> asked = 0;
  std::atomic<int> looked = 0;
  std::atomic<bool> readable = true;

 private:
  const std::string certificate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class FakeEnrolment : public testing::Test {
 protected:
  const Identity ca_ = MakeCa();
  FakeAuthority authority_;
  Served served_{[this] {
    Served::Options options;
    options.credentials = MakeCredentials(ca_, "controller");
    options.authority = &authority_;
    return options;
  }()};
};

TEST_F(FakeEnrolment, UnreadableBooksRefuseNewCallsAndEndNoneThatWasBegun) {
  const Credentials north = MakeCredentials(ca_, "north");
  const auto dial = [&] { return Dial(served_.address(), ClientOf(north), "controller"); };
  Talk begun(dial(), "north");
  ASSERT_TRUE(begun.Join(*served_.models.schema()));
  authority_.readable = false;
  Talk fresh(dial(), "north", 2);
  fresh.Greet();
  EXPECT_EQ(fresh.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(served_.Audited("authority"), 1u);
  const int looked = authority_.looked;
  ASSERT_TRUE(WaitFor([&] { return authority_.looked > looked + 1; })) << "nobody watches";
  ASSERT_TRUE(begun.Beat());
  EXPECT_TRUE(begun.Next(v1::ToParticipant::kHeartbeat).has_heartbeat());
}

TEST_F(FakeEnrolment, FewAreHeardAtATimeAndOurOwnTroubleIsNotTold) {
  constexpr int kCalls = 40;
  const Credentials nobody{CertificatePem(ca_), "", "", {}};
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 2; ++i) {
    channels.push_back(Dial(served_.address(), ClientOf(nobody, false), "controller"));
  }
  std::mutex mutex;
  std::map<grpc::StatusCode, int> ends;
  std::string words;
  std::vector<std::thread> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.emplace_back([&, i] {
      v1::EnrolRequest request;
      request.set_name("site-3");
      v1::EnrolReply reply;
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kBound);
      const grpc::Status status = v1::Enrolment::NewStub(channels[static_cast<size_t>(i % 2)])
                                      ->Enrol(&context, request, &reply);
      std::scoped_lock lock(mutex);
      ++ends[status.error_code()];
      if (status.error_code() == grpc::StatusCode::UNAVAILABLE) words = status.error_message();
    });
  }
  EXPECT_TRUE(WaitFor([&] {
    std::scoped_lock lock(mutex);
    return ends[grpc::StatusCode::RESOURCE_EXHAUSTED] == kCalls - 16;
  }));
  authority_.Open();
  for (std::thread& each : calls) each.join();
  EXPECT_EQ(ends[grpc::StatusCode::UNAVAILABLE], 16);
  EXPECT_EQ(authority_.asked, 16);
  EXPECT_THAT(words, testing::Not(HasSubstr("disk")));
  EXPECT_EQ(served_.Audited("enrol-failed"), 16u);
}

TEST(WithoutAnAuthority, NobodyCanEnrol) {
  const Identity ca = MakeCa();
  Served::Options options;
  options.credentials = MakeCredentials(ca, "controller");
  Served served(options);
  const Credentials north = MakeCredentials(ca, "north");
  v1::EnrolRequest request;
  v1::EnrolReply reply;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kBound);
  const grpc::Status status =
      v1::Enrolment::NewStub(Dial(served.address(), ClientOf(north), "controller"))
          ->Enrol(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(FetchAuthority, SaysWhoDoesNotAnswer) {
  Served plain;  // speaks no TLS
  const std::array<unsigned char, 32> fingerprint{};
  Result<std::string> fetched = FetchAuthority({"127.0.0.1", plain.server->port()}, fingerprint);
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("no TLS connection"));
  EXPECT_EQ(fetched.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(FetchAuthority({"no-such-host.invalid", 1}, fingerprint).error().message,
              HasSubstr("can't be found"));
  EXPECT_THAT(FetchAuthority({"127.0.0.1", 1}, fingerprint).error().message,
              HasSubstr("can't be reached"));
}

}  // namespace
}  // namespace metis::rpc
