#include "metis/authority/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/rpc/credentials.h"
#include "metis/rpc/testing.h"

namespace metis::authority {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'800'000'000;

class CertificatesTest : public rpc::FileTest {
 protected:
  const std::string ca_key_ = MakeKey();
  const int64_t now_ = static_cast<int64_t>(::time(nullptr));
  const std::string ca_ = MakeAuthority(ca_key_, {now_, 100}).pem;

  // What a program makes of it.
  Result<rpc::Credentials> Load(const std::string& certificate, const std::string& key,
                                bool for_server) {
    std::string warning;
    return rpc::LoadCredentials(
        {Write("ca", ca_), Write("certificate", certificate), Write("key", key)}, for_server,
        warning);
  }
};

TEST_F(CertificatesTest, AParticipantIsCalledAsTheAuthoritySaysNotAsItSaysItself) {
  const std::string key = MakeKey();
  const std::string request = MakeRequest(key, "controller").value();
  const Issued issued =
      IssueFor(ca_, ca_key_, request, "site-3", Role::kObserver, {now_, 9}).value();
  Result<rpc::Credentials> loaded = Load(issued.pem, key, false);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->names, std::vector<std::string>{"site-3"});
  const rpc::PeerFacts facts = rpc::ReadPeer(issued.pem);
  EXPECT_EQ(facts.serial, issued.serial);
  EXPECT_EQ(facts.roles, std::vector<std::string>{"observer"});
  EXPECT_EQ(issued.not_after_s, now_ + 9 * 24 * 3600);
  EXPECT_FALSE(Load(issued.pem, key, true)) << "no participant can pose as the controller";
}

TEST_F(CertificatesTest, TheControllersIsForItsHostsAndForNoClient) {
  const std::string key = MakeKey();
  const Issued issued =
      IssueController(ca_, ca_key_, key, {"fed.example.org", "192.0.2.7", "2001:db8::7"}, {now_, 9})
          .value();
  Result<rpc::Credentials> loaded = Load(issued.pem, key, true);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->names, (std::vector<std::string>{"controller", "fed.example.org"}));
  EXPECT_TRUE(rpc::ReadPeer(issued.pem).roles.empty());
  EXPECT_FALSE(Load(issued.pem, key, false));
}

TEST_F(CertificatesTest, NoTwoSerialsAreTheSame) {
  const std::string request = MakeRequest(MakeKey(), "a").value();
  const auto serial = [&] {
    return IssueFor(ca_, ca_key_, request, "a", Role::kLearner, {now_, 9}).value().serial;
  };
  const std::string first = serial();
  EXPECT_EQ(first.size(), 32u);
  EXPECT_NE(first, serial());
}

TEST_F(CertificatesTest, ARequestMustBeProvedByItsKeyAndOnTheRightCurve) {
  const std::string request = MakeRequest(MakeKey(), "a").value();
  EXPECT_TRUE(ReadRequest(request));
  size_t refused = 0;
  for (size_t i = 0; i < request.size(); ++i) {
    std::string wrong = request;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    refused += ReadRequest(wrong) ? 0u : 1u;
    EXPECT_FALSE(ReadRequest(request.substr(0, i))) << i;
  }
  EXPECT_EQ(refused, request.size()) << "every bit of it is signed, or is the signature";
  EXPECT_THAT(ReadRequest(request + "x").error().message, HasSubstr("can't be read"));
  EXPECT_THAT(ReadRequest(std::string(20'000, 'x')).error().message, HasSubstr("20000 bytes"));

  EVP_PKEY* other = EVP_EC_gen("P-384");
  const std::string pem = rpc::KeyPem({nullptr, rpc::KeyPtr(other, EVP_PKEY_free)});
  EXPECT_THAT(ReadRequest(MakeRequest(pem, "a").value()).error().message,
              HasSubstr("another kind than P-256"));
}

TEST_F(CertificatesTest, TheSameKeyIsRecognisedInAnotherRequest) {
  const std::string key = MakeKey();
  const Sha256 first = ReadRequest(MakeRequest(key, "a").value())->public_key;
  EXPECT_EQ(ReadRequest(MakeRequest(key, "b").value())->public_key, first);
  EXPECT_NE(ReadRequest(MakeRequest(MakeKey(), "a").value())->public_key, first);
}

TEST_F(CertificatesTest, AnAuthoritySignsWithItsOwnKeyAlone) {
  const std::string request = MakeRequest(MakeKey(), "a").value();
  EXPECT_THAT(IssueFor(ca_, MakeKey(), request, "a", Role::kLearner, {kNow, 9}).error().message,
              HasSubstr("belongs to another certificate"));
  EXPECT_THAT(IssueFor("", ca_key_, request, "a", Role::kLearner, {kNow, 9}).error().message,
              HasSubstr("certificate can't be read"));
}

TEST(CheckHost, TakesNamesAndAddressesWithoutPorts) {
  for (const char* good : {"localhost", "fed.example.org", "10.0.0.1", "::1", "fe80::1"}) {
    EXPECT_TRUE(CheckHost(good)) << good;
  }
  for (const char* bad :
       {"", "a b", "host:7740", "-x", ".x", "a,DNS:b", "[::1]", "*.example.org"}) {
    EXPECT_FALSE(CheckHost(bad)) << bad;
  }
}

}  // namespace
}  // namespace metis::authority
