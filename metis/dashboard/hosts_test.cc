#include "metis/dashboard/hosts.h"

#include <gtest/gtest.h>

namespace metis::dashboard {
namespace {

TEST(ListenAddress, IsHostAndPort) {
  Result<ListenAddress> v4 = ParseListenAddress("127.0.0.1:7741");
  ASSERT_TRUE(v4) << v4.error().message;
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 7741);
  Result<ListenAddress> v6 = ParseListenAddress("[::1]:0");
  ASSERT_TRUE(v6) << v6.error().message;
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);
  EXPECT_EQ(UrlOf({"::1", 80}), "http://[::1]:80/");
  EXPECT_EQ(UrlOf({"example.org", 81}), "http://example.org:81/");
}

TEST(ListenAddress, AnythingElseIsNamedWithAWayOut) {
  for (const char* text : {"", "7741", ":7741", "localhost", "localhost:", "localhost:65536",
                           "localhost:1x", "localhost:-1", "::1:80", "[]:80"}) {
    Result<ListenAddress> address = ParseListenAddress(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().message.find(text), std::string::npos);
    EXPECT_NE(address.error().message.find("127.0.0.1:7741"), std::string::npos);
  }
}

TEST(IsLoopback, IsTrueOnlyOfThisMachine) {
  for (const char* host : {"127.0.0.1", "127.8.9.1", "::1", "localhost", "LocalHost"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "127.example.org", "example.org"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

TEST(IsOwnName, AddressesLocalhostAndTheChosenNameAreOurs) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:7741", "10.1.2.3:80", "localhost", "LOCALHOST:1",
                           "[::1]", "[::1]:7741", "Dashboard.Example.org:7741"}) {
    EXPECT_TRUE(IsOwnName(host, "dashboard.example.org")) << host;
  }
}

TEST(IsOwnName, NamesThatAnotherSiteCanPointHereAreNot) {
  for (const char* host : {"", "evil.example:7741", "127.0.0.1.evil.example",
                           "localhost.evil.example", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:80:80",
                           "[::1", "[::1]x", "[::1]:", "[evil.example]", ":7741", "1.2.3"}) {
    EXPECT_FALSE(IsOwnName(host, "dashboard.example.org")) << host;
  }
}

}  // namespace
}  // namespace metis::dashboard
