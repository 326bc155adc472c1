// `metis doctor` looks at a controller's port: real handshakes, with and without certificates.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>

#include "metis/core/text.h"
#include "metis/doctor/checks.h"
#include "metis/doctor/gather.h"
#include "metis/doctor/testing.h"
#include "metis/rpc/clock_service.h"
#include "metis/rpc/testing.h"
#include "proto/metis/v1/federation.grpc.pb.h"

namespace metis::doctor {
namespace {

using rpc::CertificatePem;
using rpc::CertificateSpec;
using rpc::Identity;
using rpc::KeyPem;
using rpc::MakeCa;
using rpc::MakeCertificate;
using testing::ElementsAre;
using testing::HasSubstr;

class Doctor : public rpc::FileTest {
 protected:
  ~Doctor() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  void Serve(std::shared_ptr<grpc::ServerCredentials> credentials, bool with_clock = true) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
    if (with_clock) {
      clock_ = rpc::MakeClockService();
    } else {
      other_ = std::make_unique<v1::Federation::Service>();  // as before there were clocks
    }
    builder.RegisterService(with_clock ? clock_.get() : other_.get());
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(server_ && port > 0);
    address_ = Text("127.0.0.1:", port);
  }
  void ServeTls(const CertificateSpec& spec, const Identity& ca, bool with_clock = true) {
    const Identity own = MakeCertificate(spec, &ca);
    grpc::SslServerCredentialsOptions tls(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = CertificatePem(ca_);
    tls.pem_key_cert_pairs = {{KeyPem(own), CertificatePem(own)}};
    Serve(grpc::SslServerCredentials(tls), with_clock);
  }
  rpc::TlsFiles FilesOf(const Identity& ca) const {
    const Identity own = MakeCertificate({.name = "site-3"}, &ca);
    return {Write("ca.pem", CertificatePem(ca_)), Write("own.pem", CertificatePem(own)),
            Write("own.key", KeyPem(own))};
  }
  Findings Join(const rpc::TlsFiles& files, bool insecure = false) const {
    return CheckJoin(GatherJoin(address_, files, insecure), Now());
  }

  const Identity ca_ = MakeCa();
  const CertificateSpec controller_{.name = "controller", .also = "IP:127.0.0.1"};
  std::unique_ptr<grpc::Service> clock_, other_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST_F(Doctor, AControllerThatIsInOrder) {
  ServeTls(controller_, ca_);
  const rpc::TlsFiles files = FilesOf(ca_);
  EXPECT_THAT(IdsOf(Join(files)), ElementsAre("join.reached", "tls.good", "tls.welcome"));
  EXPECT_THAT(IdsOf(CheckClock(GatherClock(address_, files, false))), ElementsAre("clock.good"));
}

TEST_F(Doctor, WithoutAnAuthorityNothingIsChecked) {
  ServeTls(controller_, ca_);
  EXPECT_THAT(IdsOf(Join({})), ElementsAre("join.reached", "tls.unverified"));
  const ClockFacts clock = GatherClock(address_, {}, false);
  ASSERT_FALSE(clock.ahead_s);
  EXPECT_THAT(clock.ahead_s.error().message, HasSubstr("no certificate"));
}

TEST_F(Doctor, AStrangersControllerRefusesUsAsWeRefuseIt) {
  ServeTls(controller_, MakeCa("another CA"));
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))),
              ElementsAre("join.reached", "tls.stranger", "tls.welcome"));
}

TEST_F(Doctor, ACertificateForAnotherHost) {
  ServeTls({.name = "fed.example"}, ca_);
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))),
              ElementsAre("join.reached", "tls.other-host", "tls.welcome"));
}

TEST_F(Doctor, AControllerWhoseCertificateIsOverOrNotYetValid) {
  CertificateSpec spec = controller_;
  spec.days = -1;
  spec.from_days = -9;
  ServeTls(spec, ca_);
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))), ElementsAre("join.reached", "tls.expired", "tls.welcome"));
  server_->Shutdown(std::chrono::system_clock::now());
  spec = controller_;
  spec.from_days = 2;
  ServeTls(spec, ca_);
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))), ElementsAre("join.reached", "tls.early", "tls.welcome"));
}

TEST_F(Doctor, OurCertificateOfAnotherAuthorityIsRefused) {
  ServeTls(controller_, ca_);
  const Identity other = MakeCa("another CA");
  const Identity own = MakeCertificate({.name = "site-3"}, &other);
  // Our own authority vouches for both, the controller's only for one.
  const rpc::TlsFiles files{Write("ca.pem", CertificatePem(other) + CertificatePem(ca_)),
                            Write("own.pem", CertificatePem(own)), Write("own.key", KeyPem(own))};
  EXPECT_THAT(IdsOf(Join(files)), ElementsAre("join.reached", "tls.good", "tls.unwelcome"));
}

TEST_F(Doctor, PlainTextAndTlsDoNotUnderstandEachOther) {
  Serve(grpc::InsecureServerCredentials());
  EXPECT_THAT(IdsOf(Join({}, /*insecure=*/true)), ElementsAre("join.reached", "join.insecure"));
  EXPECT_THAT(IdsOf(CheckClock(GatherClock(address_, {}, true))), ElementsAre("clock.good"));
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))), ElementsAre("join.reached", "join.plain"));
  server_->Shutdown(std::chrono::system_clock::now());
  ServeTls(controller_, ca_);
  EXPECT_THAT(IdsOf(Join({}, /*insecure=*/true)), ElementsAre("join.reached", "join.other"));
}

TEST_F(Doctor, AnEarlierProgramDoesNotTellItsTime) {
  Serve(grpc::InsecureServerCredentials(), /*with_clock=*/false);
  EXPECT_THAT(IdsOf(CheckClock(GatherClock(address_, {}, true))), ElementsAre("clock.untold"));
}

}  // namespace
}  // namespace metis::doctor
