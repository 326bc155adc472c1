#include "metis/authority/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "metis/core/text.h"
#include "metis/rpc/testing.h"

namespace metis::authority {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class AuthorityTest : public rpc::FileTest {
 protected:
  std::unique_ptr<Authority> Create(const std::string& name = "authority") {
    return Authority::Create(Path(name), {"fed.example.org"}, "fed.example.org:7740",
                             [this] { return now_; })
        .value();
  }
  std::unique_ptr<Authority> Open() {
    return Authority::Open(Path("authority"), [this] { return now_; }).value();
  }
  static Token Invite(Authority& authority, const std::string& name, Role role = Role::kLearner,
                      Duration valid = Duration::Hours(24)) {
    return ParseToken(authority.Invite(name, role, valid, "").value()).value();
  }
  Verdict Enrol(Authority& authority, const Token& token) {
    return authority.Enrol(token.name, token.secret, MakeRequest(key_, token.name).value());
  }
  // What must not change when somebody is refused.
  static std::string Books(Authority& authority) {
    std::string text;
    const std::vector<Invitation> invitations = authority.ledger().Invitations().value();
    const std::vector<CertificateRecord> issued = authority.ledger().Certificates().value();
    for (const Invitation& each : invitations) {
      text += Text(each.name, " ", NameOf(each.role), " ", each.made_s, " ", each.expires_s, " ",
                   each.used_s, " ", each.withdrawn_s, "\n");
    }
    for (const CertificateRecord& each : issued) {
      text += Text(each.serial, " ", each.name, " ", NameOf(each.role), " ", each.issued_s, " ",
                   each.not_after_s, " ", each.revoked_s, "\n");
    }
    return text;
  }
  mode_t ModeOf(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat(Path("authority/" + name).c_str(), &found), 0) << name;
    return found.st_mode & 0777;
  }

  int64_t now_ = static_cast<int64_t>(::time(nullptr));
  const std::string key_ = MakeKey();
};

TEST_F(AuthorityTest, WhoIsInvitedGetsOneCertificateOfItsNameAndRole) {
  const std::unique_ptr<Authority> authority = Create();
  const Token token = Invite(*authority, "site-3", Role::kObserver);
  EXPECT_EQ(token.authority, authority->fingerprint());
  EXPECT_EQ(token.address, "fed.example.org:7740");
  const Verdict verdict = Enrol(*authority, token);
  ASSERT_TRUE(verdict.granted()) << verdict.message;
  EXPECT_EQ(verdict.role, "observer");
  const rpc::PeerFacts facts = rpc::ReadPeer(verdict.certificate);
  EXPECT_EQ(facts.serial, verdict.serial);
  EXPECT_EQ(facts.roles, std::vector<std::string>{"observer"});
  const std::vector<CertificateRecord> all = authority->ledger().Certificates().value();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].serial, verdict.serial);
  EXPECT_EQ(all[0].not_after_s, now_ + kParticipantDays * 24 * 3600);
}

TEST_F(AuthorityTest, KeysAreReadableByTheirOwnerAlone) {
  const mode_t before = ::umask(0);
  const std::unique_ptr<Authority> authority = Create();
  Invite(*authority, "a");
  ::umask(before);
  for (const char* name : {kAuthorityKeyFile, kControllerKeyFile, kLedgerFile}) {
    EXPECT_EQ(ModeOf(name), 0600u) << name;
  }
  EXPECT_EQ(ModeOf("authority.db-wal"), 0600u);
  EXPECT_EQ(ModeOf("."), 0700u);
}

TEST_F(AuthorityTest, AUsedInvitationIsRefusedButALostAnswerIsGivenAgain) {
  const std::unique_ptr<Authority> authority = Create();
  const Token token = Invite(*authority, "site-3");
  const Verdict first = Enrol(*authority, token);
  const std::string books = Books(*authority);
  const Verdict again = Enrol(*authority, token);
  EXPECT_EQ(again.certificate, first.certificate) << "the same key asked";
  EXPECT_TRUE(again.again);
  const Verdict thief =
      authority->Enrol(token.name, token.secret, MakeRequest(MakeKey(), token.name).value());
  EXPECT_FALSE(thief.granted());
  EXPECT_EQ(thief.reason, "used");
  EXPECT_THAT(thief.message, HasSubstr("metis ca invite site-3"));
  EXPECT_EQ(Books(*authority), books);
}

TEST_F(AuthorityTest, AnExpiredInvitationIsRefusedFromThatSecondOn) {
  const std::unique_ptr<Authority> authority = Create();
  const Token one = Invite(*authority, "one", Role::kLearner, Duration::Seconds(60));
  const Token two = Invite(*authority, "two", Role::kLearner, Duration::Seconds(60));
  now_ += 59;
  EXPECT_TRUE(Enrol(*authority, one).granted());
  const std::string books = Books(*authority);
  now_ += 1;
  const Verdict late = Enrol(*authority, two);
  EXPECT_EQ(late.reason, "expired");
  EXPECT_FALSE(late.granted());
  EXPECT_EQ(Books(*authority), books);
}

TEST_F(AuthorityTest, AGuessedSecretAnotherNameAndABadRequestAreRefused) {
  const std::unique_ptr<Authority> authority = Create();
  const Token token = Invite(*authority, "site-3");
  const std::string books = Books(*authority);
  Token guessed = token;
  guessed.secret.back() = static_cast<char>(guessed.secret.back() ^ 1);
  EXPECT_EQ(Enrol(*authority, guessed).reason, "invitation");
  guessed.secret.clear();
  EXPECT_EQ(Enrol(*authority, guessed).reason, "invitation");
  Token other = token;
  other.name = "site-4";
  EXPECT_EQ(Enrol(*authority, other).reason, "name");
  other.name = "no name!";
  EXPECT_EQ(Enrol(*authority, other).reason, "malformed");
  EXPECT_EQ(authority->Enrol(token.name, token.secret, "no request").reason, "malformed");
  EXPECT_EQ(Books(*authority), books);
  EXPECT_TRUE(Enrol(*authority, token).granted()) << "none of that has used it up";
}

TEST_F(AuthorityTest, ARevocationOfAnotherProcessIsSeenAtOnce) {
  const std::unique_ptr<Authority> controller = Create();
  const Verdict verdict = Enrol(*controller, Invite(*controller, "site-3"));
  const Verdict other = Enrol(*controller, Invite(*controller, "site-4"));
  const Token open = Invite(*controller, "site-3");
  EXPECT_FALSE(controller->IsRevoked(verdict.serial).value());
  const Ledger::Revocation revoked = Open()->Revoke("site-3").value();
  EXPECT_EQ(revoked.serials, std::vector<std::string>{verdict.serial});
  EXPECT_EQ(revoked.invitations, 1u);
  EXPECT_TRUE(controller->IsRevoked(verdict.serial).value());
  EXPECT_FALSE(controller->IsRevoked(other.serial).value());
  EXPECT_EQ(Enrol(*controller, open).reason, "withdrawn");
  EXPECT_TRUE(Open()->IsRevoked(verdict.serial).value()) << "after a restart";
  EXPECT_TRUE(Open()->Revoke("site-3").value().serials.empty()) << "twice does no harm";
  EXPECT_TRUE(Enrol(*controller, Invite(*controller, "site-3")).granted()) << "invited anew";
}

TEST_F(AuthorityTest, ALostAnswerIsNotGivenAgainOnceItIsRevoked) {
  const std::unique_ptr<Authority> authority = Create();
  const Token token = Invite(*authority, "site-3");
  ASSERT_TRUE(Enrol(*authority, token).granted());
  ASSERT_TRUE(authority->Revoke("site-3"));
  EXPECT_EQ(Enrol(*authority, token).reason, "used");
}

TEST_F(AuthorityTest, WhoWasNeverThereCannotBeRevoked) {
  const std::unique_ptr<Authority> authority = Create();
  Invite(*authority, "site-3");
  EXPECT_THAT(authority->Revoke("site-33").error().message, HasSubstr("did you mean site-3?"));
}

TEST_F(AuthorityTest, OneInvitationIsGoodForOneOfManyWhoAskAtTheSameTime) {
  const std::unique_ptr<Authority> one = Create(), two = Open();
  const Token token = Invite(*one, "site-3");
  std::atomic<int> granted = 0, used = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 8; ++i) {
    all.emplace_back([&, i] {
      Authority& authority = i % 2 == 0 ? *one : *two;
      const Verdict verdict =
          authority.Enrol(token.name, token.secret, MakeRequest(MakeKey(), token.name).value());
      granted += verdict.granted() ? 1 : 0;
      used += verdict.reason == "used" ? 1 : 0;
    });
  }
  for (std::thread& each : all) each.join();
  EXPECT_EQ(granted, 1);
  EXPECT_EQ(used, 7);
}

TEST_F(AuthorityTest, MadeAgainItKeepsItsMembersAndRenewsTheController) {
  const auto read = [this](const char* name) { return Read(Text("authority/", name)); };
  const std::unique_ptr<Authority> first = Create();
  const Verdict verdict = Enrol(*first, Invite(*first, "site-3"));
  const std::string ca = read(kAuthorityFile), key = read(kControllerKeyFile);
  const std::string controller = read(kControllerFile);
  const std::unique_ptr<Authority> again = Create();
  EXPECT_EQ(read(kAuthorityFile), ca);
  EXPECT_EQ(read(kControllerKeyFile), key);
  EXPECT_NE(read(kControllerFile), controller);
  EXPECT_TRUE(again->Revoke("site-3")) << "it knows its members";
  EXPECT_TRUE(first->IsRevoked(verdict.serial).value());
}

TEST_F(AuthorityTest, WhatIsMissingOrDamagedIsNamed) {
  EXPECT_THAT(Authority::Open(Path("nowhere")).error().message, HasSubstr("metis ca init"));
  Create();
  Write("authority/authority.db", std::string(5000, 'x'));
  EXPECT_THAT(Authority::Open(Path("authority")).error().message, HasSubstr("is damaged"));
  fs::remove(Path("authority/authority.db"));
  fs::remove(Path("authority/authority.db-wal"));
  fs::remove(Path("authority/authority.db-shm"));
  EXPECT_THAT(Authority::Open(Path("authority")).error().message, HasSubstr("authority.db"));
  fs::remove(Path("authority/ca.key"));
  EXPECT_THAT(Authority::Create(Path("authority"), {}, "").error().message,
              HasSubstr("ca.key is gone"));
  EXPECT_THAT(Authority::Create(Path("other"), {"a b"}, "").error().message,
              HasSubstr("\"a b\" is no host"));
}

TEST_F(AuthorityTest, NamesThatNoParticipantCanHaveAreNotInvited) {
  const std::unique_ptr<Authority> authority = Create();
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a,DNS:b"), std::string(65, 'a')}) {
    EXPECT_FALSE(authority->Invite(name, Role::kLearner, Duration::Hours(1), "")) << name;
  }
  EXPECT_FALSE(authority->Invite("a", Role::kLearner, Duration::Hours(1), std::string(256, 'a')));
  EXPECT_TRUE(authority->ledger().Invitations()->empty());
}

}  // namespace
}  // namespace metis::authority
