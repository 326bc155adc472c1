#include "metis/rpc/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/rpc/testing.h"

namespace metis::rpc {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CredentialsTest : public FileTest {
 protected:
  TlsFiles FilesOf(const Identity& ca, const Identity& own) const {
    return {Write("ca.pem", CertificatePem(ca)), Write("own.pem", CertificatePem(own)),
            Write("own.key", KeyPem(own))};
  }
  std::string ErrorOf(const TlsFiles& files, bool for_server = false) {
    Result<Credentials> loaded = LoadCredentials(files, for_server, warning_);
    return loaded ? "none" : loaded.error().message;
  }
  // What is wrong with a certificate of that kind, correctly signed.
  std::string ErrorOf(const CertificateSpec& spec, bool for_server = false) {
    return ErrorOf(FilesOf(ca_, MakeCertificate(spec, &ca_)), for_server);
  }

  const Identity ca_ = MakeCa();
  std::string warning_;
};

TEST_F(CredentialsTest, GoodOnesAreReadWithTheirNames) {
  const Identity own = MakeCertificate({.name = "site-3"}, &ca_);
  for (bool for_server : {false, true}) {
    Result<Credentials> loaded = LoadCredentials(FilesOf(ca_, own), for_server, warning_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_THAT(loaded->names, ElementsAre("site-3"));
    EXPECT_EQ(loaded->ca, CertificatePem(ca_));
    EXPECT_EQ(loaded->certificate, CertificatePem(own));
    EXPECT_EQ(loaded->key, KeyPem(own));
    EXPECT_EQ(warning_, "");
  }
}

TEST_F(CredentialsTest, AMissingFileIsNamed) {
  TlsFiles files = FilesOf(ca_, MakeCertificate({.name = "a"}, &ca_));
  for (std::string TlsFiles::*which : {&TlsFiles::ca, &TlsFiles::certificate, &TlsFiles::key}) {
    TlsFiles wrong = files;
    wrong.*which = Path("absent.pem");
    EXPECT_THAT(ErrorOf(wrong), AllOf(HasSubstr("absent.pem"), HasSubstr("No such file")));
    wrong.*which = "";
    EXPECT_THAT(ErrorOf(wrong), HasSubstr("no file is named"));
  }
}

TEST_F(CredentialsTest, WhatIsNotPemIsSaidSo) {
  TlsFiles files = FilesOf(ca_, MakeCertificate({.name = "a"}, &ca_));
  for (std::string TlsFiles::*which : {&TlsFiles::ca, &TlsFiles::certificate, &TlsFiles::key}) {
    TlsFiles wrong = files;
    wrong.*which = Write("binary.der", "0\x82\x01\x0a not text");
    EXPECT_THAT(ErrorOf(wrong), AllOf(HasSubstr("binary.der"), HasSubstr("in PEM form")));
    wrong.*which = Write("empty.pem", "");
    EXPECT_THAT(ErrorOf(wrong), AllOf(HasSubstr("empty.pem"), HasSubstr("is empty")));
  }
}

TEST_F(CredentialsTest, AnExpiredCertificateNamesItsDate) {
  EXPECT_THAT(ErrorOf({.name = "a", .days = -2, .from_days = -9}),
              AllOf(HasSubstr("own.pem"), HasSubstr("expired on 2"), HasSubstr("UTC")));
}

TEST_F(CredentialsTest, ACertificateOfTheFutureNamesItsDate) {
  EXPECT_THAT(ErrorOf({.name = "a", .from_days = 2}),
              AllOf(HasSubstr("not valid before 2"), HasSubstr("clock")));
}

TEST_F(CredentialsTest, AnotherCaOfTheSameNameIsNoticed) {
  const Identity other = MakeCa();
  const Identity own = MakeCertificate({.name = "a"}, &other);
  EXPECT_THAT(ErrorOf(FilesOf(ca_, own)), HasSubstr("not signed by the CA"));
  const Identity third = MakeCa("third CA");
  EXPECT_THAT(ErrorOf(FilesOf(third, own)), HasSubstr("not signed by the CA"));
}

TEST_F(CredentialsTest, AnExpiredCaIsNamed) {
  const Identity old =
      MakeCertificate({.name = "old CA", .days = -1, .from_days = -9, .authority = true}, nullptr);
  const Identity own = MakeCertificate({.name = "a"}, &old);
  EXPECT_THAT(ErrorOf(FilesOf(old, own)),
              AllOf(HasSubstr("ca.pem"), HasSubstr("old CA"), HasSubstr("expired on 2")));
}

TEST_F(CredentialsTest, APeersCertificateIsNoCa) {
  const Identity peer = MakeCertificate({.name = "peer"}, &ca_);
  const Identity own = MakeCertificate({.name = "a"}, &peer);
  const Identity self_signed = MakeCertificate({.name = "loner"}, nullptr);
  const Identity below = MakeCertificate({.name = "a"}, &self_signed);
  EXPECT_THAT(ErrorOf(FilesOf(self_signed, below)), HasSubstr("is no CA"));
  EXPECT_NE(ErrorOf(FilesOf(peer, own)), "none");
}

TEST_F(CredentialsTest, ASelfSignedCertificateIsRefused) {
  const Identity own = MakeCertificate({.name = "a"}, nullptr);
  EXPECT_THAT(ErrorOf(FilesOf(ca_, own)), HasSubstr("self-signed"));
  EXPECT_THAT(ErrorOf(FilesOf(own, own)), HasSubstr("self-signed"));
}

TEST_F(CredentialsTest, TheCommonNameIsNoIdentity) {
  EXPECT_THAT(ErrorOf({.name = "a", .dns = false}), HasSubstr("no DNS name"));
}

TEST_F(CredentialsTest, AKeyOfAnotherCertificateIsRefused) {
  TlsFiles files = FilesOf(ca_, MakeCertificate({.name = "a"}, &ca_));
  files.key = Write("other.key", KeyPem(MakeCertificate({.name = "b"}, &ca_)));
  EXPECT_THAT(ErrorOf(files), AllOf(HasSubstr("other.key"), HasSubstr("another certificate")));
}

TEST_F(CredentialsTest, TheUsageMustAllowTheRole) {
  const CertificateSpec client{.name = "a", .usage = "clientAuth"};
  const CertificateSpec server{.name = "a", .usage = "serverAuth"};
  EXPECT_EQ(ErrorOf(client, false), "none");
  EXPECT_EQ(ErrorOf(server, true), "none");
  EXPECT_THAT(ErrorOf(client, true), HasSubstr("extendedKeyUsage=serverAuth"));
  EXPECT_THAT(ErrorOf(server, false), HasSubstr("extendedKeyUsage=clientAuth"));
  EXPECT_EQ(ErrorOf({.name = "a", .usage = ""}, true), "none");
}

TEST_F(CredentialsTest, AKeyThatOthersCanReadIsWarnedOf) {
  const Identity own = MakeCertificate({.name = "a"}, &ca_);
  TlsFiles files = FilesOf(ca_, own);
  files.key = Write("open.key", KeyPem(own), 0640);
  EXPECT_EQ(ErrorOf(files), "none");
  EXPECT_THAT(warning_, AllOf(HasSubstr("open.key"), HasSubstr("0640"), HasSubstr("chmod 600")));
}

TEST(IsLoopback, IsTheWholeOf127AndNothingThatOnlyLooksLikeIt) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.8.7", "::1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"", "0.0.0.0", "10.0.0.1", "127.0.0.1.example.org", "127.0.0", "::",
                           "127.0.0.256", "localhost.example.org", "128.0.0.1", "127.0.0.1 "}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

TEST(ParseHostPort, ReadsNamesAndBothKindsOfAddresses) {
  for (const auto& [text, host, port] :
       {std::tuple("controller.example.org:7740", "controller.example.org", 7740),
        std::tuple("127.0.0.1:0", "127.0.0.1", 0), std::tuple("[::1]:65535", "::1", 65535)}) {
    Result<HostPort> parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
  }
}

TEST(ParseHostPort, AnErrorNamesTheTextAndTheForm) {
  for (const char* text : {"", "host", "host:", ":7740", "host:65536", "host:-1", "host:77x",
                           "::1:7", "[]:7", "http://host:7", "[::1:7"}) {
    Result<HostPort> parsed = ParseHostPort(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message,
                AllOf(HasSubstr(Text("\"", text, "\"")), HasSubstr("HOST:PORT")));
  }
}

}  // namespace
}  // namespace metis::rpc
