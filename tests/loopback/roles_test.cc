// Who may operate a federation over the network: certificates of the role admin, and names that the
// operator lists; nobody else, whatever method is called, and nothing changes when they try.
#include <gmock/gmock.h>

#include "metis/rpc/proof.h"
#include "proto/metis/v1/operations.grpc.pb.h"
#include "tests/loopback/enrolment.h"

namespace metis::rpc {
namespace {

using testing::HasSubstr;

Served::Options WithStatus(Served::Options options = {}) {
  options.operators.status = [] { return std::string("{}"); };
  options.operators.export_model = [](bool, std::function<void(Result<ExportedModel>)> answer) {
    answer(NotFound("nothing to export"));
  };
  return options;
}

struct Called {
  const char* method;
  std::function<grpc::Status(v1::Operations::Stub&, grpc::ClientContext&)> call;
};

grpc::Status Command(v1::Operations::Stub& stub, grpc::ClientContext& context,
                     v1::CommandRequest::Kind kind, const std::string& name) {
  v1::CommandRequest request;
  request.set_kind(kind);
  request.set_name(name);
  v1::CommandReply reply;
  return stub.Command(&context, request, &reply);
}

const std::vector<Called>& Methods() {
  using Stub = v1::Operations::Stub;
  using Context = grpc::ClientContext;
  static const auto* methods = new std::vector<Called>{
      {"status",
       [](Stub& stub, Context& context) {
         v1::StatusReply reply;
         return stub.Status(&context, {}, &reply);
       }},
      {"pause",
       [](Stub& stub, Context& context) {
         return Command(stub, context, v1::CommandRequest::PAUSE, "");
       }},
      {"stop",
       [](Stub& stub, Context& context) {
         return Command(stub, context, v1::CommandRequest::STOP, "");
       }},
      {"withdraw",
       [](Stub& stub, Context& context) {
         return Command(stub, context, v1::CommandRequest::WITHDRAW, "site-3");
       }},
      {"export",
       [](Stub& stub, Context& context) {
         v1::ExportPart part;
         auto reader = stub.Export(&context, {});
         while (reader->Read(&part)) continue;
         return reader->Finish();
       }},
  };
  return *methods;
}

grpc::Status CallOn(const std::shared_ptr<grpc::Channel>& channel, const Called& method) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kBound);
  const std::unique_ptr<v1::Operations::Stub> stub = v1::Operations::NewStub(channel);
  return method.call(*stub, context);
}

class Roles : public Enrolment {
 protected:
  Roles() : Enrolment(WithStatus()) {}
};

TEST_F(Roles, NoMethodOfAnOperatorIsForLearnersOrObservers) {
  const Credentials learner = Enrol(Invite("site-3")).value();
  const Credentials observer = Enrol(Invite("watcher", Role::kObserver)).value();
  Talk talk(DialAs(learner), "site-3");
  ASSERT_TRUE(talk.Join(schema()));
  for (const Credentials& who : {learner, observer}) {
    for (const Called& method : Methods()) {
      SCOPED_TRACE(method.method);
      const auto call = [&] {
        const grpc::Status status = CallOn(DialAs(who), method);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
        return status.error_message();
      };
      ExpectRefused(call, Text(who.names.front(), " may not operate this federation"), "role",
                    who.names.front());
    }
  }
}

TEST_F(Roles, WithoutACertificateNobodyOperates) {
  const Credentials nobody{authority_->certificate(), "", "", {}};
  for (const Called& method : Methods()) {
    SCOPED_TRACE(method.method);
    const auto call = [&] {
      const grpc::Status status = CallOn(DialAs(nobody, false), method);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
      return status.error_message();
    };
    ExpectRefused(call, "no certificate was shown", "certificate", "");
  }
}

TEST_F(Roles, AnAdministratorOperatesUntilItIsRevoked) {
  const Credentials admin = Enrol(Invite("alice", Role::kAdmin)).value();
  const Called& status = Methods()[0];
  const Called& pause = Methods()[1];
  EXPECT_TRUE(CallOn(DialAs(admin), status).ok());
  EXPECT_TRUE(CallOn(DialAs(admin), pause).ok());
  ASSERT_TRUE(WaitFor([&] { return served_->Audited("command") == 1; }));
  EXPECT_EQ(served_->LastRefusal().name, "alice");
  const std::shared_ptr<grpc::Channel> open = DialAs(admin);
  ASSERT_TRUE(CallOn(open, status).ok());
  ASSERT_TRUE(Authority::Open(Path("authority")).value()->Revoke("alice"));
  for (const Called& method : Methods()) {  // also on a connection from before
    ExpectRefused([&] { return CallOn(open, method).error_message(); }, "was revoked", "revoked",
                  "alice");
  }
}

TEST(ListedAdmins, OperateWithCertificatesOfAnAuthorityOfTheirOwn) {
  const Identity ca = MakeCa();
  Served::Options options;
  options.credentials = MakeCredentials(ca, "controller");
  options.network.admins = {"alice", "bob"};
  Served served(WithStatus(options));
  const auto status = [&](const CertificateSpec& who) {
    return CallOn(Dial(served.address(), ClientOf(MakeCredentials(ca, who)), "controller"),
                  Methods()[0])
        .error_code();
  };
  EXPECT_EQ(status({.name = "bob"}), grpc::StatusCode::OK);
  EXPECT_EQ(status({.name = "site-3"}), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status({.name = "site-3", .also = "URI:urn:metis:role:admin"}), grpc::StatusCode::OK);
  EXPECT_EQ(status({.name = "site-3", .also = "URI:urn:other:role:admin"}),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST(ListedAdmins, WithoutARoleACertificateIsGoodForBothParticipants) {
  Proof proof;
  proof.tls = true;
  proof.names = {"site-3"};
  EXPECT_TRUE(proof.MayBe(federation::Role::kLearner));
  EXPECT_TRUE(proof.MayBe(federation::Role::kObserver));
  EXPECT_FALSE(proof.MayOperate());
  proof.listed = true;
  EXPECT_TRUE(proof.MayOperate());
  proof.roles = {"learner"};
  EXPECT_FALSE(proof.MayOperate()) << "a list makes no operator of a learner's certificate";
  proof.roles.clear();
  proof.denied = Denial{"revoked", "was revoked"};
  EXPECT_FALSE(proof.MayOperate());
  EXPECT_FALSE(proof.MayBe(federation::Role::kLearner));
  EXPECT_FALSE(proof.Allows("site-3"));
}

}  // namespace
}  // namespace metis::rpc
