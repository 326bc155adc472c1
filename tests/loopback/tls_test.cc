// Who may speak under mutual TLS, and what the audit says of those who may not.
#include "metis/rpc/grpc_log.h"
#include "metis/rpc/testing.h"
#include "tests/loopback/raw_client.h"

namespace metis::rpc {
namespace {

class Tls : public testing::Test {
 protected:
  std::shared_ptr<grpc::Channel> DialAs(const Credentials& credentials, bool with = true) {
    return Dial(served_.address(), ClientOf(credentials, with), "controller");
  }

  const Identity ca_ = MakeCa();
  Served served_{[this] {
    Served::Options options;
    options.credentials = MakeCredentials(ca_, "controller");
    return options;
  }()};
};

TEST_F(Tls, TheNameOfTheCertificateIsWelcomeAndNoOther) {
  auto channel = DialAs(MakeCredentials(ca_, "north"));
  Talk north(channel, "north");
  ASSERT_TRUE(north.Join(*served_.models.schema()));
  const ModelPtr model = served_.Make(1);
  EXPECT_TRUE(UploadWhole(channel, OpeningOf(north, model), model).end.ok());

  Talk thief(channel, "east");
  EXPECT_NE(thief.Greet().refused().message().find("certificate, which says: north"),
            std::string::npos);
  EXPECT_EQ(served_.LastRefusal().reason, "name");
}

TEST_F(Tls, ATokenIsOfNoUseToAnotherCertificate) {
  Talk north(DialAs(MakeCredentials(ca_, "north")), "north");
  ASSERT_TRUE(north.Join(*served_.models.schema()));
  Transfer transfer(DialAs(MakeCredentials(ca_, "east")), "Upload");
  ASSERT_TRUE(transfer.Open(OpeningOf(north, served_.Make(1))));
  EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(served_.Audited("token"), 1u);
}

TEST_F(Tls, WithoutACertificateNobodyGetsInAndTheAuditSaysWhy) {
  Talk talk(DialAs(MakeCredentials(ca_, "north"), false), "north");
  talk.Greet();
  EXPECT_FALSE(talk.Finish().ok());
  ASSERT_TRUE(served_.WaitAudited("tls"));
  EXPECT_NE(served_.LastRefusal().message.find("peer did not return a certificate"),
            std::string::npos)
      << served_.LastRefusal().message;
}

TEST_F(Tls, ACertificateOfAnotherAuthorityIsRefusedAndTheAuditSaysWhy) {
  Credentials stranger = MakeCredentials(MakeCa("another"), "north");
  stranger.ca = CertificatePem(ca_);  // it believes ours
  Talk talk(DialAs(stranger), "north");
  talk.Greet();
  EXPECT_FALSE(talk.Finish().ok());
  ASSERT_TRUE(served_.WaitAudited("tls"));
  EXPECT_NE(served_.LastRefusal().message.find("certificate verify failed"), std::string::npos)
      << served_.LastRefusal().message;
}

TEST_F(Tls, PlaintextIsRefusedAndTheAuditSaysWhy) {
  Talk talk(Dial(served_.address()), "north");
  talk.Greet();
  EXPECT_FALSE(talk.Finish().ok());
  ASSERT_TRUE(served_.WaitAudited("tls"));
  EXPECT_FALSE(served_.LastRefusal().message.empty());
}

TEST(GrpcLog, TheReasonOfAFailedHandshakeIsFound) {
  EXPECT_EQ(HandshakeFailure("Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:SSL "
                             "routines::certificate verify failed."),
            "certificate verify failed");
  EXPECT_EQ(HandshakeFailure("Failed accept4: Too many open files"), "");
}

}  // namespace
}  // namespace metis::rpc
