#include "metis/site/enrolment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "metis/authority/authority.h"
#include "metis/authority/certificates.h"
#include "metis/rpc/testing.h"

namespace metis::site {
namespace {

using authority::Role;
using testing::HasSubstr;

class EnrolmentFiles : public rpc::FileTest {
 protected:
  // As an enrolment leaves it, as far as it is looked at.
  std::string Leave(const std::string& name, Role role, const rpc::HostPort& controller) {
    const std::string key = authority::MakeKey();
    const int64_t now = authority::SecondsNow();
    const std::string request = authority::MakeRequest(key, name).value();
    const std::string leaf = Text("states/", name, "@", controller.host, "-", controller.port);
    std::filesystem::create_directories(Path(leaf));
    Write(leaf + "/certificate.pem",
          authority::IssueFor(ca_, ca_key_, request, name, role, {now, 9}).value().pem);
    Write(leaf + "/controller", Text(controller.host, ":", controller.port, "\n"));
    return Path(leaf);
  }
  std::string Found(Role role, const std::string& join, const std::string& name) {
    Result<std::optional<Membership>> found =
        FindMembership(role, join, name, {.named = "", .of_user = Path("states")});
    if (!found) return found.error().message;
    return *found ? (*found)->state : "none";
  }

  const std::string ca_key_ = authority::MakeKey();
  const std::string ca_ = authority::MakeAuthority(ca_key_, {authority::SecondsNow(), 9}).pem;
};

TEST_F(EnrolmentFiles, ATokenIsAWordOrTheFirstLineOfAFile) {
  const authority::Token token{
      std::string(authority::kSecretBytes, 's'), {}, Role::kLearner, "north", "127.0.0.1:7740"};
  const std::string word = authority::FormatToken(token);
  EXPECT_EQ(ReadToken(word).value(), token);
  EXPECT_EQ(ReadToken("@" + Write("token", word + "\nfor site north\n")).value(), token);
  EXPECT_THAT(ReadToken("@" + Path("absent")).error().message, HasSubstr(Path("absent")));
  EXPECT_THAT(ReadToken("@" + Write("cut", word.substr(0, 9))).error().message,
              HasSubstr("mistyped or cut off"));
}

TEST_F(EnrolmentFiles, AreFoundByRoleNameAndController) {
  EXPECT_EQ(Found(Role::kLearner, "", ""), "none");
  const std::string site = Leave("site-3", Role::kLearner, {"fed.example.org", 7740});
  const std::string admin = Leave("alice", Role::kAdmin, {"fed.example.org", 7740});
  EXPECT_EQ(Found(Role::kLearner, "", ""), site);
  EXPECT_EQ(Found(Role::kAdmin, "fed.example.org:7740", ""), admin);
  EXPECT_EQ(Found(Role::kObserver, "", ""), "none");
  EXPECT_EQ(Found(Role::kLearner, "", "site-4"), "none");
  EXPECT_EQ(Found(Role::kLearner, "fed.example.org:7741", ""), "none");

  const std::string other = Leave("site-3", Role::kLearner, {"other.example.org", 7740});
  EXPECT_THAT(Found(Role::kLearner, "", "site-3"), HasSubstr("say which is meant"));
  EXPECT_EQ(Found(Role::kLearner, "other.example.org:7740", ""), other);
  EXPECT_EQ(FindMembership(Role::kLearner, "", "", {.named = other, .of_user = ""})
                .value()
                ->controller.host,
            "other.example.org");
  EXPECT_THAT(Found(Role::kLearner, "nowhere", ""), HasSubstr("--join"));
}

TEST_F(EnrolmentFiles, AreBelowTheUsersDirectoryUnlessAnotherOneIsNamed) {
  const rpc::HostPort controller{"fed.example.org", 7740};
  EXPECT_EQ(StateOf({"", "states"}, "site-3", controller).value(),
            "states/site-3@fed.example.org-7740");
  EXPECT_EQ(StateOf({"here", "states"}, "site-3", controller).value(), "here");
  EXPECT_THAT(StateOf({"", ""}, "site-3", controller).error().message, HasSubstr("--state"));
  EXPECT_THAT(FindMembership(Role::kLearner, "", "", {}).error().message, HasSubstr("--state"));
}

TEST_F(EnrolmentFiles, ADamagedOneIsNamed) {
  const std::string site = Leave("site-3", Role::kLearner, {"fed.example.org", 7740});
  std::filesystem::remove(site + "/controller");
  EXPECT_THAT(Found(Role::kLearner, "", ""), HasSubstr(site + "/controller"));
}

TEST_F(EnrolmentFiles, AJoinThatIsGivenGoesBeforeTheTokensAddress) {
  authority::Token token;
  token.address = "fed.example.org:7740";
  EXPECT_EQ(ControllerOf(token, "").value().host, "fed.example.org");
  EXPECT_EQ(ControllerOf(token, "127.0.0.1:1").value().port, 1);
  EXPECT_THAT(ControllerOf(token, "127.0.0.1:0").error().message, HasSubstr("port 0"));
  token.address.clear();
  EXPECT_THAT(ControllerOf(token, "").error().message, HasSubstr("--join"));
}

}  // namespace
}  // namespace metis::site
