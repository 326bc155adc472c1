// A federation with an authority of its own, whose certificates are got as sites get them, and what
// no refusal may change in it. For tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "metis/authority/authority.h"
#include "metis/authority/certificates.h"
#include "metis/core/text.h"
#include "metis/rpc/enrol.h"
#include "metis/rpc/testing.h"
#include "tests/loopback/raw_client.h"

namespace metis::rpc {

using authority::Authority;
using authority::Role;
using authority::Token;

class Enrolment : public FileTest {
 protected:
  explicit Enrolment(Served::Options options = {}) : authority_(MakeAuthority("authority")) {
    options.authority = authority_.get();
    options.credentials = ControllerOf("authority");
    served_ = std::make_unique<Served>(options);
  }

  std::unique_ptr<Authority> MakeAuthority(const std::string& name) {
    return Authority::Create(Path(name), {}, "127.0.0.1:7740", [this] { return now_.load(); })
        .value();
  }
  Credentials ControllerOf(const std::string& directory) {
    std::string warning;
    return LoadCredentials({Path(directory + "/ca.pem"), Path(directory + "/controller.pem"),
                            Path(directory + "/controller.key")},
                           true, warning)
        .value();
  }
  HostPort controller() const { return {"127.0.0.1", served_->server->port()}; }
  Token Invite(const std::string& name, Role role = Role::kLearner) {
    return authority::ParseToken(authority_->Invite(name, role, Duration::Hours(1), "").value())
        .value();
  }
  // As a site does it.
  Result<Credentials> Enrol(const Token& token, const std::string& key = authority::MakeKey()) {
    Result<std::string> ca = FetchAuthority(controller(), token.authority);
    if (!ca) return ca.error();
    const std::string request = authority::MakeRequest(key, token.name).value();
    Result<std::string> certificate =
        CallEnrol({controller(), *ca, token.name, token.secret, request, "a test"}, {});
    if (!certificate) return certificate.error();
    return Credentials{*ca, *certificate, key, {token.name}};
  }
  std::shared_ptr<grpc::Channel> DialAs(const Credentials& credentials, bool shown = true) {
    return Dial(served_->address(), ClientOf(credentials, shown), "controller");
  }
  const ModelSchema& schema() { return *served_->models.schema(); }

  // What no refusal may change.
  std::string Standing() {
    std::string text = Text(served_->Ask([](const auto& c) { return c.StateHash(); }), "\n");
    const auto invitations = authority_->ledger().Invitations().value();
    for (const authority::Invitation& each : invitations) {
      text += Text(each.name, " ", each.used_s, " ", each.withdrawn_s, "\n");
    }
    const auto certificates = authority_->ledger().Certificates().value();
    for (const authority::CertificateRecord& each : certificates) {
      text += Text(each.serial, " ", each.revoked_s, "\n");
    }
    return text;
  }
  void ExpectRefused(const std::function<std::string()>& attempt, const std::string& words,
                     const std::string& reason, const std::string& name) {
    SCOPED_TRACE(reason);
    const std::string before = Standing();
    const size_t audited = served_->Audited(reason);
    EXPECT_THAT(attempt(), testing::HasSubstr(words));
    EXPECT_TRUE(WaitFor([&] { return served_->Audited(reason) > audited; }));
    const Refusal last = served_->LastRefusal();
    EXPECT_EQ(last.reason, reason);
    EXPECT_EQ(last.name, name);
    EXPECT_THAT(last.message, testing::HasSubstr(words));
    EXPECT_THAT(last.peer, testing::HasSubstr("127.0.0.1"));
    EXPECT_EQ(Standing(), before);
  }
  std::string RefusalOf(const Token& token) {
    Result<Credentials> enrolled = Enrol(token);
    return enrolled ? "granted" : enrolled.error().message;
  }

  std::atomic<int64_t> now_ = authority::SecondsNow();
  std::unique_ptr<Authority> authority_;
  std::unique_ptr<Served> served_;
};

}  // namespace metis::rpc
