// A federation under mutual TLS with three learners who speak by hand, for tests of what others do
// to it. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "metis/core/fingerprint.h"
#include "metis/rpc/testing.h"
#include "tests/loopback/raw_client.h"

namespace metis::rpc {

inline const std::vector<uint64_t> kNorthHas = {5, 3};
inline const std::vector<uint64_t> kEastHas = {2, 7};
inline const std::vector<uint64_t> kWestHas = {4, 4};

// Where the federation stands. Updates that were refused are counted, and no more.
struct Standing {
  uint64_t version = 0;
  uint64_t community = 0;  // fingerprint
  uint64_t commits = 0;
  uint64_t requests = 0;
  uint64_t steps = 0;
  uint64_t members = 0;
  uint64_t live = 0;
  uint64_t pending = 0;

  friend bool operator==(const Standing&, const Standing&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Standing& is) {
    return out << "version " << is.version << ", community " << Hex(is.community) << ", commits "
               << is.commits << ", requests " << is.requests << ", steps " << is.steps
               << ", members " << is.members << ", live " << is.live << ", pending " << is.pending;
  }
};

// A learner with a certificate, as it speaks by hand.
struct Site {
  Site(const std::string& address, const Credentials& credentials, const std::string& name,
       uint32_t incarnation = 1)
      : channel(Dial(address, ClientOf(credentials), "controller")),
        talk(channel, name, incarnation) {}

  bool Join(const ModelSchema& schema, const std::vector<uint64_t>& validation) {
    if (!talk.Greet().has_welcome()) return false;
    v1::FromParticipant message;
    v1::Join& join = *message.mutable_join();
    join.set_training_examples(30);
    join.mutable_validation_counts()->Assign(validation.begin(), validation.end());
    join.set_schema_hash(schema.hash());
    talk.Write(message);
    return talk.Next(v1::ToParticipant::kAccepted).has_accepted();
  }

  std::shared_ptr<grpc::Channel> channel;
  Talk talk;
};

// Three learners under DVW. One update of north's is committed, another one waits for the counts of
// east and west.
class Federation {
 public:
  Federation() {
    EXPECT_TRUE(north.Join(schema(), kNorthHas));
    const ModelPtr first = served.Make(1);
    EXPECT_TRUE(UploadWhole(north.channel, Opening(first, 1), first).end.ok());
    EXPECT_EQ(north.talk.Next(v1::ToParticipant::kAcknowledged).acknowledged().update().sequence(),
              1u);
    EXPECT_TRUE(WaitFor([&] { return Stand().requests == 1; }));
    EXPECT_TRUE(east.Join(schema(), kEastHas));
    EXPECT_TRUE(west.Join(schema(), kWestHas));
    const ModelPtr second = served.Make(2);
    EXPECT_TRUE(UploadWhole(north.channel, Opening(second, 2), second).end.ok());
    EXPECT_TRUE(east.talk.Next(v1::ToParticipant::kEvaluate).has_evaluate());
    EXPECT_TRUE(west.talk.Next(v1::ToParticipant::kEvaluate).has_evaluate());
    EXPECT_TRUE(WaitFor([&] { return Stand().pending == 1; }));
  }

  const ModelSchema& schema() { return *served.models.schema(); }
  Credentials CertificateFor(const CertificateSpec& spec) { return MakeCredentials(ca, spec); }
  Credentials Certificate(const std::string& name) { return MakeCredentials(ca, name); }
  std::shared_ptr<grpc::Channel> DialAs(const Credentials& credentials, bool shown = true) {
    return Dial(served.address(), ClientOf(credentials, shown), "controller");
  }
  // An update of north's that is fine.
  v1::OpenUpload Opening(const ModelPtr& model, uint64_t sequence) {
    v1::OpenUpload open = OpeningOf(north.talk, model, sequence);
    open.set_schema_hash(schema().hash());
    federation::UpdateReceived update;
    update.id.sequence = Sequence(sequence);
    update.steps = 10;
    update.cycle.cycle = sequence;
    update.own_counts = federation::CountsOf(kNorthHas, 6);
    *open.mutable_update() = wire::EncodeUpdate(update);
    return open;
  }
  // What north is answered to an update that arrives whole.
  std::string Verdict(const v1::OpenUpload& open, const ModelPtr& model) {
    const Uploaded uploaded = UploadWhole(north.channel, open, model);
    if (!uploaded.end.ok()) return uploaded.end.message();
    const v1::Rejected answer = north.talk.Next(v1::ToParticipant::kRejected).rejected();
    return Text(EnumNames(federation::RejectReason::kGate)[answer.reason()], ": ",
                answer.message());
  }

  Standing Stand() {
    return served.Ask([](const federation::Controller& c) {
      return Standing{c.version().value(),
                      c.community()->Fingerprint(),
                      c.statistics().commits,
                      c.statistics().requests,
                      c.ledger().committed_steps(),
                      c.membership().all().size(),
                      c.membership().live_learners(),
                      c.Pending().size()};
    });
  }
  uint64_t StateHash() {
    return served.Ask([](const federation::Controller& c) { return c.StateHash(); });
  }

  const Identity ca = MakeCa();
  Served served{[this] {
    Served::Options options;
    options.credentials = MakeCredentials(ca, "controller");
    options.policy = "async-dvw";
    return options;
  }()};
  Site north{served.address(), Certificate("north"), "north", 5};
  Site east{served.address(), Certificate("east"), "east"};
  Site west{served.address(), Certificate("west"), "west"};
};

}  // namespace metis::rpc
