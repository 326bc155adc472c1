#include "metis/rpc/tls_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/rpc/testing.h"

namespace metis::rpc {
namespace {

using testing::HasSubstr;

class TlsOptionsTest : public FileTest {
 protected:
  Result<std::optional<Credentials>> Load(const TlsOptions& options, const std::string& host) {
    return LoadTls(options, /*for_server=*/false, host,
                   [this](const std::string& text) { warning_ = text; });
  }
  std::string ErrorOf(const TlsOptions& options, const std::string& host = "127.0.0.1") {
    Result<std::optional<Credentials>> loaded = Load(options, host);
    return loaded ? "none" : loaded.error().message;
  }

  std::string warning_;
};

TEST_F(TlsOptionsTest, PlainTextIsForThisMachineAlone) {
  Result<std::optional<Credentials>> here = Load({.files = {}, .insecure = true}, "localhost");
  ASSERT_TRUE(here);
  EXPECT_FALSE(here->has_value());
  EXPECT_THAT(ErrorOf({.files = {}, .insecure = true}, "fed.example.org"), HasSubstr("--insecure"));
  EXPECT_THAT(ErrorOf({.files = {"ca.pem", "", ""}, .insecure = true}), HasSubstr("exclude"));
}

TEST_F(TlsOptionsTest, TlsNeedsAllThreeFiles) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("--enrol"));
  EXPECT_THAT(ErrorOf({.files = {"ca.pem", "", "own.key"}}), HasSubstr("--certificate is missing"));
  EXPECT_THAT(ErrorOf({.files = {"ca.pem", "own.pem", ""}}), HasSubstr("--key is missing"));
}

TEST_F(TlsOptionsTest, AKeyThatOthersCanReadIsWarnedOf) {
  const Identity ca = MakeCa();
  const Identity own = MakeCertificate({.name = "site-3"}, &ca);
  const TlsOptions options{.files = {Write("ca.pem", CertificatePem(ca)),
                                     Write("own.pem", CertificatePem(own)),
                                     Write("own.key", KeyPem(own), 0644)}};
  Result<std::optional<Credentials>> loaded = Load(options, "fed.example.org");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->names.front(), "site-3");
  EXPECT_THAT(warning_, HasSubstr("own.key"));
}

}  // namespace
}  // namespace metis::rpc
