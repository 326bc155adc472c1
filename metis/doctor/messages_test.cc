// Every message of `metis doctor`, provoked: a message of the table without a case fails here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "metis/core/text.h"
#include "metis/doctor/checks.h"

namespace metis::doctor {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

constexpr int64_t kNow = 1'800'000'000;  // 2027-01-15 08:00 UTC
constexpr int64_t kDay = 24 * 3600;
constexpr uint64_t kMB = 1'000'000;

// --- Facts of a healthy machine, each changed in one place.

template <typename Facts>
Facts With(Facts facts, const std::function<void(Facts&)>& change) {
  change(facts);
  return facts;
}

Findings Config(const std::vector<config::Assignment>& sets) {
  return CheckConfig({"federation.toml", config::ParseConfig("", "federation.toml", sets)});
}
Findings OfWhole(const std::function<void(RunFacts&)>& change,
                 const std::optional<std::string>& identity = std::nullopt) {
  RunFacts facts;
  facts.directory = "runs/first";
  facts.state = RunFacts::State::kWhole;
  facts.events = 41;
  facts.identity = "ours";
  facts.models = 12;
  return CheckRun(With<RunFacts>(facts, change), identity, "other.toml");
}
Findings RunIn(RunFacts::State state) {
  return OfWhole([state](RunFacts& facts) {
    facts.state = state;
    facts.words = "the words";
    facts.holder = "4711";
    facts.format = 9;
    facts.known = 1;
  });
}
Findings Files(uint64_t allowed) { return CheckFileLimit({allowed, 2096, 96, 2000}); }
Findings Disk(const std::function<void(DiskFacts&)>& change) {
  DiskFacts facts;
  facts.directory = "runs";
  facts.free = 1000 * kMB;
  facts.needed = 100 * kMB;
  return CheckDisk(With<DiskFacts>(facts, change));
}
Findings Memory(uint64_t free, uint64_t total, std::optional<uint64_t> needed) {
  return CheckMemory({free, total, needed});
}
Findings Listen(ListenFacts::State state, bool loopback = false, const RunFacts* run = nullptr) {
  return CheckListen({"0.0.0.0:7740", 7740, state, "the words", loopback}, run);
}
Findings ListenBesideItsController() {
  RunFacts run;
  run.directory = "runs/first";
  run.state = RunFacts::State::kInUse;
  run.address = "0.0.0.0:7740";
  return Listen(ListenFacts::State::kTaken, false, &run);
}
Findings Certificate(int64_t days, int64_t ca_days, uint32_t mode) {
  return CheckCertificate(CertificateFacts{"own.pem",
                                           {"site-3", "10.0.0.1"},
                                           kNow + days * kDay + 5,
                                           "ca.pem",
                                           kNow + ca_days * kDay + 5,
                                           "own.key",
                                           mode},
                          kNow);
}
Findings Join(const std::function<void(JoinFacts&)>& change) {
  JoinFacts facts;
  facts.address = "fed.example:7740";
  facts.host = "fed.example";
  facts.milliseconds = 12.3;
  facts.patience_s = 5;
  facts.words = "the words";
  facts.ca_file = "ca.pem";
  facts.our_name = "site-3";
  facts.peer = JoinFacts::Peer{"CN=fed", {"fed.example"},   "abcd", "", true,
                               kNow - 9, kNow + 100 * kDay, true};
  return CheckJoin(With<JoinFacts>(facts, change), kNow);
}
Findings Reach(JoinFacts::Reach reach) {
  return Join([reach](JoinFacts& facts) { facts.reach = reach; });
}
Findings Peer(const std::function<void(JoinFacts::Peer&)>& change) {
  return Join([&](JoinFacts& facts) { change(*facts.peer); });
}
Findings Data(const std::function<void(DataFacts&)>& change) {
  DataFacts facts;
  facts.what = "scans.npz";
  facts.examples = 1200;
  facts.shape = "1x28x28";
  facts.classes = 10;
  facts.model = {{"example", "1x28x28"}, {"classes", "10"}};
  return CheckData(With<DataFacts>(facts, change));
}

// --- The cases: which message, how it is provoked, and a piece of what it must say.

struct Case {
  std::string id;
  std::function<Findings()> provoke;
  std::string says;  // in what it means, what to do, or the line itself
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.id; }

Case OfRun(const char* id, RunFacts::State state, const char* says) {
  return {id, [state] { return RunIn(state); }, says};
}
Case OfListen(const char* id, ListenFacts::State state, const char* says) {
  return {id, [state] { return Listen(state); }, says};
}
Case OfReach(const char* id, JoinFacts::Reach reach, const char* says) {
  return {id, [reach] { return Reach(reach); }, says};
}

const std::vector<Case>& Cases() {
  using RunState = RunFacts::State;
  using ListenState = ListenFacts::State;
  using Way = JoinFacts::Reach;
  using Speech = JoinFacts::Speech;
  static const std::vector<Case> cases = {
      {"config.good", [] { return Config({}); }, "federation.toml: policy async-dvw, 10 learners"},
      {"config.bad",
       [] {
         return Config({{"federation.learners", "-3", "--set"}});
       },
       "-3"},
      {"config.unkept",
       [] {
         return Config({{"storage.durability", "none", "--set"}});
       },
       "full"},
      {"config.tests-only",
       [] {
         config::Config config = config::DefaultConfig();
         config.federation.stop = {};
         config.federation.stop.patience = 5;
         return CheckConfig({"federation.toml", config});
       },
       "stop.patience"},

      OfRun("run.new", RunState::kAbsent, "runs/first is not there"),
      OfRun("run.foreign", RunState::kForeign, "the words"),
      OfRun("run.hidden", RunState::kHidden, "chown -R USER runs/first"),
      OfRun("run.in-use", RunState::kInUse, "4711"),
      OfRun("run.finished", RunState::kFinished, "another --run"),
      OfRun("run.newer", RunState::kNewer, "format 9, this program knows 1"),
      OfRun("run.damaged", RunState::kDamaged, "runs/first/best.metis"),
      OfRun("run.goes-on", RunState::kWhole, "event 41"),
      {"run.models-missing",
       [] { return OfWhole([](RunFacts& facts) {
              facts.missing_models = {"aa", "bb"};
            }); },
       "of 12 models of the state 2 are missing or too short (aa"},
      {"run.incomplete",
       [] { return OfWhole([](RunFacts& facts) { facts.missing_files = {"initial.metis"}; }); },
       "initial.metis"},
      {"run.state-behind", [] { return OfWhole([](RunFacts& facts) { facts.recorded = 42; }); },
       "metis controller --run runs/first --accept-loss"},
      {"run.record-behind",
       [] {
         return OfWhole([](RunFacts& facts) {
           facts.recorded = 29;
           facts.saved = 30;
         });
       },
       "events.jsonl has 29 whole events, but the state was saved after 30"},
      {"run.other-federation", [] { return OfWhole([](RunFacts&) {}, "theirs"); }, "other.toml"},

      {"files.good", [] { return Files(2096); }, "2096"},
      {"files.few", [] { return Files(2095); }, "2000 connections need 2096"},
      {"files.too-few", [] { return Files(95); }, "LimitNOFILE=65536"},
      {"disk.good", [] { return Disk([](DiskFacts&) {}); }, "1.0 GB are free"},
      {"disk.unforecast",
       [] { return Disk([](DiskFacts& facts) { facts.needed = std::nullopt; }); }, "--model"},
      {"disk.tight", [] { return Disk([](DiskFacts& facts) { facts.needed = 600 * kMB; }); },
       "600 MB"},
      {"disk.short", [] { return Disk([](DiskFacts& facts) { facts.needed = 1001 * kMB; }); },
       "storage.snapshot_every"},
      {"disk.unknown",
       [] { return Disk([](DiskFacts& facts) { facts.free = Unavailable("no idea"); }); },
       "no idea"},
      {"disk.read-only",
       [] { return Disk([](DiskFacts& facts) { facts.read_only = "Permission denied"; }); },
       "Permission denied"},
      {"disk.remote", [] { return Disk([](DiskFacts& facts) { facts.remote = "nfs"; }); },
       "local disk"},
      {"memory.good", [] { return Memory(900 * kMB, 1000 * kMB, 900 * kMB); }, "900 MB"},
      {"memory.unforecast", [] { return Memory(900 * kMB, 1000 * kMB, std::nullopt); }, "--model"},
      {"memory.tight", [] { return Memory(899 * kMB, 1000 * kMB, 900 * kMB); },
       "storage.memory_mb"},
      {"memory.short", [] { return Memory(900 * kMB, 1000 * kMB, 1001 * kMB); },
       "this machine has 1.0 GB"},
      {"memory.unknown",
       [] {
         return CheckMemory({Unavailable("no idea"), 0, 1});
       },
       "no idea"},
      {"clock.kept", [] { return CheckTimeService(true); }, "time service"},
      {"clock.unkept", [] { return CheckTimeService(false); }, "timedatectl set-ntp true"},

      OfListen("listen.free", ListenState::kFree, "0.0.0.0:7740"),
      OfListen("listen.taken", ListenState::kTaken, "sport = :7740"),
      OfListen("listen.denied", ListenState::kDenied, "CAP_NET_BIND_SERVICE"),
      OfListen("listen.elsewhere", ListenState::kElsewhere, "ip address"),
      OfListen("listen.malformed", ListenState::kMalformed, "the words"),
      OfListen("listen.failed", ListenState::kFailed, "the words"),
      {"listen.loopback", [] { return Listen(ListenState::kFree, true); }, "--listen 0.0.0.0:7740"},
      {"listen.ours", ListenBesideItsController, "runs/first"},

      {"certificate.good", [] { return Certificate(30, 90, 0600); },
       "site-3, 10.0.0.1, valid for another 30 days, until 2027-02-14 08:00 UTC"},
      {"certificate.soon", [] { return Certificate(29, 90, 0600); }, "expires in 29 days"},
      {"certificate.authority-soon", [] { return Certificate(30, 89, 0600); }, "in 89 days"},
      {"certificate.key-open", [] { return Certificate(30, 90, 0640); }, "mode 0640"},
      {"certificate.bad", [] { return CheckCertificate(Invalid("own.pem: expired"), kNow); },
       "own.pem: expired"},
      {"certificate.none", [] { return CheckNoCertificates("0.0.0.0:7740"); }, "0.0.0.0:7740"},
      {"authority.good",
       [] {
         return CheckAuthority({"auth", "", 0600, "auth/ca.key", ""});
       },
       "auth"},
      {"authority.none",
       [] {
         return CheckAuthority({"auth", "ca.pem", 0600, "", ""});
       },
       "metis ca init auth"},
      {"authority.key-open",
       [] {
         return CheckAuthority({"auth", "", 0604, "auth/ca.key", ""});
       },
       "auth/ca.key can be read by others (mode 0604)"},
      {"authority.read-only",
       [] {
         return CheckAuthority({"auth", "", 0600, "auth/ca.key", "Permission denied"});
       },
       "Permission denied"},
      {"state.empty",
       [] {
         return CheckState({"state", false, "", ""});
       },
       "--enrol TOKEN"},
      {"state.in-use",
       [] {
         return CheckState({"state", true, "4711", ""});
       },
       "4711"},
      {"state.read-only",
       [] {
         return CheckState({"state", true, "", "Permission denied"});
       },
       "Permission denied"},

      OfReach("join.reached", Way::kReached, "within 12 ms"),
      OfReach("join.malformed", Way::kMalformed, "the words"),
      OfReach("join.unknown-host", Way::kUnknownHost, "getent hosts fed.example"),
      OfReach("join.refused", Way::kRefused, "RUN/address"),
      OfReach("join.silent", Way::kSilent, "within 5 s"),
      OfReach("join.unreachable", Way::kUnreachable, "the words"),
      {"join.plain", [] { return Join([](JoinFacts& facts) { facts.speech = Speech::kOther; }); },
       "not in TLS"},
      {"join.insecure",
       [] {
         return Join([](JoinFacts& facts) {
           facts.insecure = true;
           facts.speech = Speech::kPlainFederation;
         });
       },
       "without TLS"},
      {"join.other",
       [] {
         return Join([](JoinFacts& facts) {
           facts.insecure = true;
           facts.speech = Speech::kOther;
         });
       },
       "leave --insecure out"},
      {"tls.good", [] { return Join([](JoinFacts&) {}); }, "another 100 days"},
      {"tls.unverified", [] { return Join([](JoinFacts& facts) { facts.ca_file = ""; }); },
       "SHA-256 abcd"},
      {"tls.stranger", [] { return Peer([](auto& peer) { peer.distrust = "unknown"; }); },
       "ca.pem did not sign: unknown"},
      {"tls.other-host", [] { return Peer([](auto& peer) { peer.for_host = false; }); },
       "--host fed.example"},
      {"tls.expired", [] { return Peer([](auto& peer) { peer.until = kNow; }); },
       "expired on 2027-01-15 08:00 UTC"},
      {"tls.early", [] { return Peer([](auto& peer) { peer.from = kNow + kDay; }); },
       "not valid before 2027-01-16 08:00 UTC; here it is 2027-01-15"},
      {"tls.not-grpc", [] { return Peer([](auto& peer) { peer.http2 = false; }); }, "HTTP/2"},
      {"tls.welcome", [] { return Join([](JoinFacts&) {}); }, "site-3"},
      {"tls.unwelcome", [] { return Join([](JoinFacts& facts) { facts.refusal = "unknown ca"; }); },
       "unknown ca"},
      {"tls.turned-away", [] { return CheckClock({Invalid("it was revoked")}); }, "it was revoked"},
      {"clock.good", [] { return CheckClock({-1.26}); }, "differ by 1.3 s"},
      {"clock.differs", [] { return CheckClock({5.0}); }, "5 s ahead of this one"},
      {"clock.wrong", [] { return CheckClock({-120.0}); }, "120 s behind this one"},
      {"clock.untold", [] { return CheckClock({NotFound("the words")}); }, "the words"},

      {"data.good", [] { return Data([](DataFacts&) {}); },
       "scans.npz: 1200 examples of 1x28x28, 10 classes"},
      {"data.bad", [] { return Data([](DataFacts& facts) { facts.read = Invalid("at byte 9"); }); },
       "at byte 9"},
      {"data.other-content",
       [] { return Data([](DataFacts& facts) { facts.unrecorded = {"test"}; }); }, "the test part"},
      {"data.thin", [] { return Data([](DataFacts& facts) {
                           facts.single = {"cat", "dog"};
                         }); },
       "cat, dog"},
      {"data.other-model", [] { return Data([](DataFacts& facts) { facts.classes = 9; }); },
       "has 9 classes of 1x28x28, the model is for 10 of 1x28x28"},
  };
  return cases;
}

class EveryMessage : public testing::TestWithParam<Case> {};

TEST_P(EveryMessage, IsProvoked) {
  const Case& each = GetParam();
  const Findings findings = each.provoke();
  ASSERT_THAT(findings, Contains(Field(&Finding::id, each.id))) << FormatFindings(findings);
  for (const Finding& finding : findings) {
    if (finding.id != each.id) continue;
    EXPECT_THAT(Text(finding.what, "\n", finding.means, "\n", finding.todo), HasSubstr(each.says));
  }
}

std::string NameOfCase(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.id;
  for (char& c : name) c = c == '.' || c == '-' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Doctor, EveryMessage, testing::ValuesIn(Cases()), NameOfCase);

TEST(EveryMessage, HasItsCase) {
  std::set<std::string> provoked, all;
  for (const Case& each : Cases()) provoked.insert(each.id);
  for (const Message& message : Messages()) all.insert(std::string(message.id));
  EXPECT_EQ(provoked, all);
}

// --- What is well is not scolded.

TEST(Checks, OfAHealthyMachineFindNothingWrong) {
  Findings all;
  const auto add = [&](Findings more) { all.insert(all.end(), more.begin(), more.end()); };
  add(Config({}));
  add(OfWhole([](RunFacts&) {}, "ours"));
  add(Files(20000));
  add(Disk([](DiskFacts&) {}));
  add(Memory(900 * kMB, 1000 * kMB, 100 * kMB));
  add(CheckTimeService(true));
  add(Listen(ListenFacts::State::kFree));
  add(Certificate(300, 3000, 0600));
  add(CheckAuthority({"auth", "", 0600, "auth/ca.key", ""}));
  add(CheckState({"state", true, "", ""}));
  add(Join([](JoinFacts&) {}));
  add(CheckClock({0.2}));
  add(Data([](DataFacts&) {}));
  for (const Finding& finding : all) EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.id;
}

TEST(CheckListen, AnotherRunsControllerIsAnotherProgram) {
  RunFacts run;
  run.state = RunFacts::State::kInUse;
  run.address = "0.0.0.0:17740";
  const Findings findings = Listen(ListenFacts::State::kTaken, false, &run);
  EXPECT_THAT(findings, Contains(Field(&Finding::id, "listen.taken")));
}

TEST(ForecastNeeds, CountsWhatAControllerKeeps) {
  config::Config config = *config::ParseConfig(
      "[federation]\npolicy = \"async-fedavg\"\nlearners = 3\n[stop]\nrequests = 100\n"
      "[storage]\nsnapshot_every = 50\n[trigger]\nlocal_epochs = 4\n"
      "[[group]]\nname = \"all\"\nlearners = 3\n",
      "test");
  const uint64_t model = 10 * kMB;
  const Needs light = ForecastNeeds(config, model, false);
  // Latest models, updates of 50 events, files; 100 lines of the record.
  EXPECT_EQ(light.disk, (3 + 11 + 6) * model + 100 * 2048);
  EXPECT_EQ(light.memory, (3 + 3 + 4) * model);
  EXPECT_EQ(ForecastNeeds(config, model, true).disk, light.disk + 100 * model);
  config.storage.snapshot_every = 1'000'000;  // large models make snapshots of their own
  EXPECT_EQ(ForecastNeeds(config, model, false).disk, (3 + 101 + 6) * model + 100 * 2048);

  config.storage.memory_mb = 1;
  EXPECT_EQ(ForecastNeeds(config, model, false).memory, (3 + 4) * model + (1 << 20));
  config.storage.durability = store::Durability::kNone;
  EXPECT_EQ(ForecastNeeds(config, model, false).disk, (3 + 101 + 6) * model + 100 * 2048)
      << "what memory does not hold is there, too";
  config.storage.memory_mb = 0;
  EXPECT_EQ(ForecastNeeds(config, model, false).disk, 6 * model + 100 * 2048);
}

TEST(ForecastNeeds, OfRoundsHoldsTheRoundUnderWayToo) {
  config::Config config =
      *config::ParseConfig("[federation]\npolicy = \"sync-fedavg\"\n[stop]\nrounds = 7\n", "test");
  const Needs needs = ForecastNeeds(config, kMB, false);
  EXPECT_EQ(needs.memory, (10 + 10 + 4) * kMB);
  EXPECT_EQ(ForecastNeeds(config, kMB, true).disk - needs.disk, 70 * kMB);

  // Without a disk the finished round's models are dropped; with a bound they are kept up to it.
  config = *config::ParseConfig(
      "[federation]\npolicy = \"sync-fedavg\"\n[storage]\ndurability = \"none\"\n", "test");
  EXPECT_EQ(ForecastNeeds(config, kMB, false).memory, (10 + 10 + 4) * kMB);
  config = *config::ParseConfig(
      "[federation]\npolicy = \"sync-fedavg\"\n"
      "[storage]\ndurability = \"none\"\nmemory_mb = 2\n",
      "test");
  EXPECT_EQ(ForecastNeeds(config, kMB, false).memory, (10 + 10 + 4) * kMB + 2 * (1 << 20));
}

}  // namespace
}  // namespace metis::doctor
