// What strangers, thieves, liars and broken learners try, one after the other, over mutual TLS:
// every attempt is refused in words, in the answer, in the audit or in both, and the federation
// stands where it stood.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/loopback/sites.h"

namespace metis::rpc {
namespace {

using federation::RejectReason;
using testing::HasSubstr;

// --- Attempts: each returns what was answered

std::string WordsOf(const v1::ToParticipant& answer, Talk& talk) {
  if (answer.has_welcome()) return "welcome";
  if (answer.has_refused()) return answer.refused().message();
  return talk.Finish().error_message();
}

std::string SayHello(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                     uint32_t incarnation = 1) {
  Talk talk(channel, name, incarnation);
  return WordsOf(talk.Greet(), talk);
}

std::string NoCertificate(Federation& to) {
  return SayHello(to.DialAs(to.Certificate("south"), false), "south");
}

std::string SelfSigned(Federation& to) {
  const Identity own = MakeCertificate({.name = "south"}, nullptr);
  return SayHello(to.DialAs({CertificatePem(to.ca), CertificatePem(own), KeyPem(own), {"south"}}),
                  "south");
}

std::string OfAnotherAuthority(Federation& to) {
  Credentials stranger = MakeCredentials(MakeCa("another"), "south");
  stranger.ca = CertificatePem(to.ca);  // it believes ours
  return SayHello(to.DialAs(stranger), "south");
}

std::string Expired(Federation& to) {
  return SayHello(to.DialAs(to.CertificateFor({.name = "south", .days = -1, .from_days = -9})),
                  "south");
}

std::string NotYetValid(Federation& to) {
  return SayHello(to.DialAs(to.CertificateFor({.name = "south", .days = 9, .from_days = 2})),
                  "south");
}

std::string Plaintext(Federation& to) { return SayHello(Dial(to.served.address()), "south"); }

std::string AsAnother(Federation& to) {
  return SayHello(to.DialAs(to.Certificate("south")), "north", 9);
}

std::string ByItsCommonName(Federation& to) {
  return SayHello(to.DialAs(to.CertificateFor({.name = "south", .dns = false})), "south");
}

std::string ByTheAddressInItsCertificate(Federation& to) {
  return SayHello(to.DialAs(to.CertificateFor({.name = "south", .also = "IP:10.0.0.9"})),
                  "10.0.0.9");
}

std::string OfALaterWire(Federation& to) {
  Talk talk(to.DialAs(to.Certificate("south")), "south");
  talk.hello().set_oldest_version(wire::kNewestWire + 1);
  talk.hello().set_newest_version(wire::kNewestWire + 2);
  return WordsOf(talk.Greet(), talk);
}

std::string OfAnOldLife(Federation& to) {
  return SayHello(to.DialAs(to.Certificate("north")), "north", 4);
}

std::string WithoutHello(Federation& to) {
  Talk talk(to.DialAs(to.Certificate("south")), "south");
  talk.Beat();
  return talk.Finish().error_message();
}

std::string MessageOf21MB(Federation& to) {
  Talk talk(to.DialAs(to.Certificate("south")), "south");
  talk.hello().set_program(std::string(21 << 20, 'x'));
  return WordsOf(talk.Greet(), talk);
}

std::string JoinWithAnotherSchema(Federation& to) {
  Talk talk(to.DialAs(to.Certificate("south")), "south");
  if (!talk.Greet().has_welcome()) return "no welcome";
  v1::FromParticipant message;
  message.mutable_join()->set_training_examples(30);
  message.mutable_join()->set_schema_hash(to.schema().hash() + 1);
  talk.Write(message);
  return talk.Next(v1::ToParticipant::kJoinRefused).join_refused().message();
}

std::string UploadWithAnotherSchema(Federation& to) {
  v1::OpenUpload open = to.Opening(to.served.Make(3), 3);
  open.set_schema_hash(to.schema().hash() + 1);
  Transfer transfer(to.north.channel, "Upload");
  transfer.Open(open);
  const v1::TransferEnd end = transfer.ReadEnd();
  EXPECT_TRUE(end.final());
  EXPECT_EQ(end.reason(), static_cast<uint32_t>(RejectReason::kSchema));
  return end.message();
}

// A whole model of so many parameters more or less.
std::string UploadOfAnotherSize(Federation& to, int more) {
  federation::Models others(static_cast<size_t>(300'001 + more));
  const ModelPtr model = others.Filled(1);
  Transfer transfer(to.north.channel, "Upload");
  transfer.Open(to.Opening(model, 3));
  if (!transfer.Read()) return "no resume";
  wire::ModelSender sender(model, wire::Encoding::kRaw);
  SendChunks(transfer, sender);
  transfer.WritesDone();
  if (more < 0) return transfer.Finish().error_message();
  const v1::TransferEnd end = transfer.ReadEnd();
  EXPECT_TRUE(end.final());
  EXPECT_EQ(end.reason(), static_cast<uint32_t>(RejectReason::kSchema));
  return end.message();
}
std::string UploadOfALargerModel(Federation& to) { return UploadOfAnotherSize(to, 1); }
std::string UploadOfASmallerModel(Federation& to) { return UploadOfAnotherSize(to, -1); }

std::string OpeningOf17MB(Federation& to) {
  Transfer transfer(to.north.channel, "Upload");
  const grpc::Slice large(std::string(17 << 20, 'x'));
  transfer.Write(grpc::ByteBuffer(&large, 1));
  return transfer.Finish().error_message();
}

std::string ChunkOf5MB(Federation& to) {
  Transfer transfer(to.north.channel, "Upload");
  transfer.Open(to.Opening(to.served.Make(3), 3));
  if (!transfer.Read()) return "no resume";
  transfer.Write(MakeFrame(wire::FrameKind::kChunk, std::string(5 << 20, 'x')));
  return transfer.Finish().error_message();
}

std::string NoFrame(Federation& to) {
  Transfer transfer(to.north.channel, "Upload");
  const grpc::Slice noise(std::string(1000, 'x'));
  transfer.Write(grpc::ByteBuffer(&noise, 1));
  return transfer.Finish().error_message();
}

std::string AnotherModelThanAnnounced(Federation& to) {
  const ModelPtr model = to.served.Make(3);
  v1::OpenUpload open = to.Opening(model, 3);
  open.set_fingerprint(model->Fingerprint() + 1);
  return to.Verdict(open, model);
}

std::string OneBadValue(Federation& to, float value) {
  std::vector<float> values = federation::Values(to.served.Make(3));
  values[values.size() / 2] = value;
  const ModelPtr model = to.served.models.Of(values);
  return to.Verdict(to.Opening(model, 3), model);
}
std::string NotANumber(Federation& to) { return OneBadValue(to, std::nanf("")); }
std::string AHugeValue(Federation& to) { return OneBadValue(to, 1e30f); }

std::string ForgedOwnCounts(Federation& to) {
  const ModelPtr model = to.served.Make(3);
  v1::OpenUpload open = to.Opening(model, 3);
  open.mutable_update()->mutable_own_counts()->set_counts(0, 1000);
  return to.Verdict(open, model);
}

std::string ForgedSteps(Federation& to) {
  const ModelPtr model = to.served.Make(3);
  v1::OpenUpload open = to.Opening(model, 3);
  open.mutable_update()->set_steps(uint64_t{1} << 60);
  return to.Verdict(open, model);
}

std::string ABaseThatItWasNeverSent(Federation& to) {
  const ModelPtr model = to.served.Make(3);
  v1::OpenUpload open = to.Opening(model, 3);
  open.mutable_update()->set_base(77);
  return to.Verdict(open, model);
}

// East claims a thousand right answers more than it has examples. It gets no answer.
std::string ForgedCountsOfAnEvaluator(Federation& to) {
  v1::FromParticipant message;
  v1::Counts& counts = *message.mutable_counts();
  counts.mutable_update()->set_learner(to.north.talk.welcome.learner());
  counts.mutable_update()->set_incarnation(5);
  counts.mutable_update()->set_sequence(2);
  counts.mutable_counts()->set_classes(2);
  for (const uint64_t count : {1002u, 0u, 0u, 7u}) counts.mutable_counts()->add_counts(count);
  to.east.talk.Write(message);
  return "";
}

std::string AWrongToken(Federation& to) {
  v1::OpenUpload open = to.Opening(to.served.Make(3), 3);
  open.set_token("0123456789abcdef");
  Transfer transfer(to.north.channel, "Upload");
  transfer.Open(open);
  return transfer.Finish().error_message();
}

std::string TheTokenOfAnother(Federation& to) {
  Transfer transfer(to.east.channel, "Upload");
  transfer.Open(to.Opening(to.served.Make(3), 3));
  return transfer.Finish().error_message();
}

std::string ADownloadWithoutAToken(Federation& to) {
  v1::OpenDownload open;
  open.set_fingerprint(to.Stand().community);
  Transfer transfer(to.east.channel, "Download");
  transfer.Open(open);
  return transfer.Finish().error_message();
}

std::string ADownloadOfWhatIsNotOffered(Federation& to) {
  v1::OpenDownload open;
  open.set_token(to.east.talk.welcome.token());
  open.set_fingerprint(1);
  Transfer transfer(to.east.channel, "Download");
  transfer.Open(open);
  return transfer.ReadEnd().message();
}

std::string AnUpdateWithoutAJoin(Federation& to) {
  Site south(to.served.address(), to.Certificate("south"), "south");
  if (!south.talk.Greet().has_welcome()) return "no welcome";
  const ModelPtr model = to.served.Make(3);
  EXPECT_TRUE(UploadWhole(south.channel, OpeningOf(south.talk, model), model).end.ok());
  return south.talk.Next(v1::ToParticipant::kRejected).rejected().message();
}

// Of north's fifth life; a sixth has come meanwhile.
std::string AnUpdateOfAnEarlierLife(Federation& to) {
  EXPECT_EQ(SayHello(to.DialAs(to.Certificate("north")), "north", 6), "welcome");
  Transfer transfer(to.north.channel, "Upload");
  transfer.Open(to.Opening(to.served.Make(3), 3));
  return transfer.Finish().error_message();
}

// It had arrived, and the disk was slower than the next life.
std::string AnUpdateStoredAfterItsLife(Federation& to) {
  const LearnerId north(to.north.talk.welcome.learner());
  federation::UpdateReceived update;
  update.id = {north, Incarnation(4), Sequence(3)};
  update.model = to.served.Make(3);
  to.served.host->Receive({north, Incarnation(4), update});
  return "";
}

// North's first update was acknowledged and committed, its second one waits. Neither is taken
// again, whatever model comes with it.
std::string AnAcknowledgedUpdateAgain(Federation& to) {
  const ModelPtr other = to.served.Make(9);
  EXPECT_TRUE(UploadWhole(to.north.channel, to.Opening(other, 1), other).end.ok());
  EXPECT_TRUE(UploadWhole(to.north.channel, to.Opening(other, 2), other).end.ok());
  v1::ToParticipant answer;
  for (int each = 0; each < 2; ++each) {  // the first one of it, and the answer to the repeated
    answer = to.north.talk.Next(v1::ToParticipant::kAcknowledged);
  }
  return Text("acknowledged ", answer.acknowledged().update().sequence());
}

struct Attempt {
  const char* name;
  std::string (*make)(Federation&);
  const char* answer;        // part of what the peer is told
  const char* reason;        // in the audit; empty: nothing there
  const char* who;           // in the audit
  bool reaches = false;      // the controller hears of it, so that its time goes on
  const char* message = "";  // part of it, in the audit
};

std::ostream& operator<<(std::ostream& out, const Attempt& attempt) { return out << attempt.name; }

const Attempt kAttempts[] = {
    {"NoCertificate", NoCertificate, "", "tls", "", false, "did not return a certificate"},
    {"SelfSigned", SelfSigned, "", "tls", "", false, "certificate verify failed"},
    {"OfAnotherAuthority", OfAnotherAuthority, "", "tls", "", false, "certificate verify failed"},
    {"Expired", Expired, "", "tls", "", false, "certificate verify failed"},
    {"NotYetValid", NotYetValid, "", "tls", "", false, "certificate verify failed"},
    {"Plaintext", Plaintext, "", "tls", ""},
    {"AsAnother", AsAnother, "the certificate, which says: south", "name", "north"},
    {"ByItsCommonName", ByItsCommonName, "the certificate, which says: none", "name", "south"},
    {"ByTheAddressInItsCertificate", ByTheAddressInItsCertificate, "which says: south", "name",
     "10.0.0.9"},
    {"OfALaterWire", OfALaterWire, "wire versions 2 to 3", "version", "south"},
    {"OfAnOldLife", OfAnOldLife, "incarnation 4", "stale-incarnation", "north"},
    {"WithoutHello", WithoutHello, "must be Hello", "malformed", ""},
    {"MessageOf21MB", MessageOf21MB, "larger than max", "", ""},
    {"JoinWithAnotherSchema", JoinWithAnotherSchema, "another model", "join", "south", true},
    {"UploadWithAnotherSchema", UploadWithAnotherSchema, "another run", "schema", "north"},
    {"UploadOfALargerModel", UploadOfALargerModel, "1200004", "oversize", "north"},
    {"UploadOfASmallerModel", UploadOfASmallerModel, "1200000 of 1200004 bytes", "", ""},
    {"OpeningOf17MB", OpeningOf17MB, "a frame of", "oversize", ""},
    {"ChunkOf5MB", ChunkOf5MB, "a frame of", "oversize", "north"},
    {"NoFrame", NoFrame, "frame", "malformed", ""},
    {"AnotherModelThanAnnounced", AnotherModelThanAnnounced, "fingerprint", "fingerprint", "north"},
    {"NotANumber", NotANumber, "gate: ", "gate", "north", true},
    {"AHugeValue", AHugeValue, "gate: ", "gate", "north", true},
    {"ForgedOwnCounts", ForgedOwnCounts, "forged-counts: ", "forged-counts", "north", true},
    {"ForgedSteps", ForgedSteps, "gate: ", "gate", "north", true},
    {"ABaseThatItWasNeverSent", ABaseThatItWasNeverSent, "version 77", "unknown-base", "north",
     true},
    {"ForgedCountsOfAnEvaluator", ForgedCountsOfAnEvaluator, "", "forged-counts", "east", true,
     "do not add up to the 2 validation examples"},
    {"AWrongToken", AWrongToken, "token", "token", ""},
    {"TheTokenOfAnother", TheTokenOfAnother, "token", "token", ""},
    {"ADownloadWithoutAToken", ADownloadWithoutAToken, "token", "token", ""},
    {"ADownloadOfWhatIsNotOffered", ADownloadOfWhatIsNotOffered, "0000000000000001", "", ""},
    {"AnUpdateWithoutAJoin", AnUpdateWithoutAJoin, "join first", "unknown-learner", "south", true},
    {"AnUpdateOfAnEarlierLife", AnUpdateOfAnEarlierLife, "token", "token", ""},
    {"AnUpdateStoredAfterItsLife", AnUpdateStoredAfterItsLife, "", "stale-incarnation", "north",
     true, "incarnation 4"},
    {"AnAcknowledgedUpdateAgain", AnAcknowledgedUpdateAgain, "acknowledged 2", "repeated", "north",
     true, "update 1 has come before"},
};

class Refusals : public testing::TestWithParam<Attempt> {};

TEST_P(Refusals, AreNamedAndChangeNothing) {
  const Attempt& attempt = GetParam();
  Federation federation;
  const Standing before = federation.Stand();
  const uint64_t hash = federation.StateHash();
  ASSERT_TRUE(federation.served.Refusals().empty()) << "the honest are refused nothing";

  EXPECT_THAT(attempt.make(federation), HasSubstr(attempt.answer));
  if (*attempt.reason != 0) {
    ASSERT_TRUE(federation.served.WaitAudited(attempt.reason));
    const Refusal refusal = federation.served.Refusals().front();
    EXPECT_EQ(refusal.name, attempt.who);
    EXPECT_FALSE(refusal.message.empty());
    EXPECT_THAT(refusal.message, HasSubstr(attempt.message));
    // gRPC's word of a failed handshake has no address.
    EXPECT_THAT(refusal.peer, HasSubstr(refusal.reason == "tls" ? "" : "127.0.0.1"));
  } else {
    EXPECT_TRUE(federation.served.Refusals().empty());
  }
  EXPECT_EQ(federation.Stand(), before);
  EXPECT_TRUE(attempt.reaches || federation.StateHash() == hash);
  ASSERT_TRUE(federation.east.talk.Beat());
  EXPECT_TRUE(federation.east.talk.Next(v1::ToParticipant::kHeartbeat).has_heartbeat());
}

INSTANTIATE_TEST_SUITE_P(Over, Refusals, testing::ValuesIn(kAttempts),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace metis::rpc
