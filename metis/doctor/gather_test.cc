// The facts as they are gathered: real ports, real files. Handshakes with a controller are in
// tests/loopback/doctor_test.cc.
#include "metis/doctor/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "metis/core/text.h"
#include "metis/data/catalogue.h"
#include "metis/doctor/checks.h"
#include "metis/doctor/testing.h"
#include "metis/machine/testing.h"
#include "metis/rpc/testing.h"
#include "metis/store/posix_file.h"
#include "metis/store/sqlite_event_log.h"
#include "metis/store/testing.h"

namespace metis::doctor {
namespace {

namespace fs = std::filesystem;
using rpc::CertificatePem;
using rpc::CertificateSpec;
using rpc::Identity;
using rpc::KeyPem;
using rpc::MakeCa;
using rpc::MakeCertificate;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(GatherListen, TellsFreeFromTaken) {
  EXPECT_THAT(IdsOf(CheckListen(GatherListen("0.0.0.0:0"), nullptr)), ElementsAre("listen.free"));
  const machine::SilentListener other;
  EXPECT_THAT(IdsOf(CheckListen(GatherListen(other.address()), nullptr)),
              ElementsAre("listen.taken"));
  EXPECT_THAT(IdsOf(CheckListen(GatherListen("127.0.0.1:0"), nullptr)),
              ElementsAre("listen.free", "listen.loopback"));
}

TEST(GatherListen, AForeignAddressIsNotOurs) {
  // 192.0.2.0/24 is for documentation only: nobody's.
  EXPECT_THAT(IdsOf(CheckListen(GatherListen("192.0.2.1:7740"), nullptr)),
              ElementsAre("listen.elsewhere"));
  EXPECT_THAT(IdsOf(CheckListen(GatherListen("nowhere"), nullptr)),
              ElementsAre("listen.malformed"));
}

Findings Join(const std::string& address, double patience_s = 5) {
  return CheckJoin(GatherJoin(address, {}, false, patience_s), Now());
}

TEST(GatherJoin, WhereNothingListens) {
  const std::string closed = machine::SilentListener().address();
  EXPECT_THAT(IdsOf(Join(closed)), ElementsAre("join.refused"));
  EXPECT_THAT(IdsOf(Join("no such host:7740")), ElementsAre("join.malformed"));
  EXPECT_THAT(IdsOf(Join("no-such-host.invalid:7740")), ElementsAre("join.unknown-host"));
}

TEST(GatherJoin, WhereNobodyAnswers) {
  const machine::SilentListener full(0);
  std::vector<int> waiting;
  const sockaddr_in address = machine::LoopbackAddress(full.port());
  for (int i = 0; i < 4; ++i) {  // the queue is full: further ones are dropped, as by a firewall
    waiting.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(waiting.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  EXPECT_THAT(IdsOf(Join(full.address(), 0.2)), ElementsAre("join.silent"));
  for (const int socket : waiting) ::close(socket);
}

// --- Certificates, authorities, states.

class CertificateTest : public rpc::FileTest {
 protected:
  // Of a directory with the files of an authority, or of a site.
  void Put(const rpc::TlsFiles& files, const Identity& ca, const CertificateSpec& spec,
           mode_t mode = 0600) const {
    const Identity own = MakeCertificate(spec, &ca);
    const auto name = [](const std::string& path) { return fs::path(path).filename().string(); };
    Write(name(files.ca), CertificatePem(ca));
    Write(name(files.certificate), CertificatePem(own));
    Write(name(files.key), KeyPem(own), mode);
  }
  Findings Certificate(const rpc::TlsFiles& files) const {
    return CheckCertificate(GatherCertificate(files, true), Now());
  }
};

TEST_F(CertificateTest, DaysNamesAndModesAreRead) {
  const rpc::TlsFiles files = FilesOfState(Path(""));
  Put(files, MakeCa("CA", 3000), {.name = "site-3", .days = 300, .also = "IP:10.0.0.9"});
  const Findings findings = Certificate(files);
  ASSERT_THAT(IdsOf(findings), ElementsAre("certificate.good"));
  EXPECT_THAT(findings[0].what, HasSubstr("site-3, 10.0.0.9"));
  Put(files, MakeCa("CA", 80), {.name = "site-3", .days = 20}, 0644);
  EXPECT_THAT(
      IdsOf(Certificate(files)),
      ElementsAre("certificate.soon", "certificate.authority-soon", "certificate.key-open"));
  Put(files, MakeCa(), {.name = "site-3", .days = -1, .from_days = -9});
  EXPECT_THAT(IdsOf(Certificate(files)), ElementsAre("certificate.bad"));
}

TEST_F(CertificateTest, AnAuthorityIsWholeAndItsKeyIsPrivate) {
  const auto look = [&] { return IdsOf(CheckAuthority(GatherAuthority(Path("")))); };
  EXPECT_THAT(look(), ElementsAre("authority.none"));
  Put(FilesOfAuthority(Path("")), MakeCa(), {.name = "controller"});
  Write("authority.db", "");
  EXPECT_THAT(look(), ElementsAre("authority.none"));
  const std::string key = Write("ca.key", "a key");
  EXPECT_THAT(look(), ElementsAre("authority.good"));
  ASSERT_EQ(::chmod(key.c_str(), 0640), 0);
  EXPECT_THAT(look(), ElementsAre("authority.key-open"));
}

TEST_F(CertificateTest, AStateIsEmptyEnrolledOrInUse) {
  const auto look = [&] { return IdsOf(CheckState(GatherState(Path("")))); };
  EXPECT_THAT(look(), ElementsAre("state.empty"));
  Put(FilesOfState(Path("")), MakeCa(), {.name = "site-3"});
  EXPECT_THAT(look(), ElementsAre());
  const Result<store::ProcessLock> held =
      store::ProcessLock::Take(Path("incarnation.lock"), "the participant");
  ASSERT_TRUE(held);
  EXPECT_THAT(look(), ElementsAre("state.in-use"));
}

// --- The machine.

class MachineTest : public rpc::FileTest {};

TEST_F(MachineTest, MemoryIsWhatTheGroupAllows) {
  EXPECT_TRUE(GatherMemory().free);
  EXPECT_THAT(IdsOf(CheckMemory(GatherMemory(Path("absent")))), ElementsAre("memory.unknown"));
  fs::create_directories(Path("self"));
  fs::create_directories(Path("unit"));
  Write("meminfo", "MemTotal: 4000 kB\nMemFree: 7 kB\nMemAvailable:   3000 kB\n");
  Write("self/cgroup", "0::/unit\n");
  Write("unit/memory.max", "max\n");
  MemoryFacts facts = GatherMemory(Path(""), Path(""));
  EXPECT_EQ(facts.total, 4000u * 1024);
  EXPECT_EQ(facts.free.value(), 3000u * 1024);
  Write("unit/memory.max", "1024000\n");
  Write("unit/memory.current", "24000\n");
  facts = GatherMemory(Path(""), Path(""));
  EXPECT_EQ(facts.total, 1024000u);
  EXPECT_EQ(facts.free.value(), 1000000u);
}

TEST_F(MachineTest, DiskAndFilesAreThoseOfThisProcess) {
  const DiskFacts disk = GatherDisk(Path("not/there/yet"));
  EXPECT_EQ(disk.read_only, "");
  ASSERT_TRUE(disk.free);
  EXPECT_GT(*disk.free, 0u);
  EXPECT_THAT(GatherDisk("/proc/sys").read_only, Not(HasSubstr("No such")));
  const FileLimitFacts files = GatherFileLimit(7);
  EXPECT_EQ(files.needed, files.least + 7);
  EXPECT_GT(files.allowed, 0u);
}

// --- A run directory.

class RunTest : public rpc::FileTest {
 protected:
  // As a controller leaves it.
  void WriteRun() {
    fs::create_directories(Path("run"));
    for (const char* file : {"config.toml", "schema.json", "events.jsonl", "initial.metis"}) {
      Write(Text("run/", file), "{}");
    }
    Write("run/schema.json", R"({"parameters": 3})");
    Write("run/federation", "0123456789abcdef\nlight\n");
    auto blobs = *store::BlobStore::Open(Path("run/blobs"), pool_);
    auto log = *store::SqliteEventLog::Open(Path("run/state.db"), *blobs, "ours");
    federation::UpdateReceived update;
    update.model = pool_.Copy(std::vector<float>{1, 2, 3});
    ASSERT_TRUE(log->Append(Instant(), update));
  }
  static ControllerFiles Files() {
    return {.state = "state.db",
            .blobs = "blobs",
            .address = "address",
            .needed = {"initial.metis", "federation"},
            .never_named = [](const std::string& run) {
              return fs::exists(run + "/config.toml.new") && !fs::exists(run + "/letter.txt");
            }};
  }
  std::vector<std::string> Look(const std::optional<std::string>& identity = std::nullopt) const {
    return IdsOf(CheckRun(GatherRun(Path("run"), Files()), identity, "federation.toml"));
  }
  void Change(const std::string& sql) const { store::ExecuteSql(Path("run/state.db"), sql); }

  const SchemaPtr schema_ = ModelSchema::Create({{"w", {3}}}).value();
  ModelPool pool_{schema_};
};

TEST_F(RunTest, IsNewForeignOrWhole) {
  EXPECT_THAT(Look(), ElementsAre("run.new"));
  fs::create_directories(Path("run"));
  EXPECT_THAT(Look(), ElementsAre("run.new"));
  Write("run/lock", "");
  EXPECT_THAT(Look(), ElementsAre("run.new"));
  Write("run/events.jsonl", "");  // a controller that found the disk full begins anew there
  Write("run/config.toml.new", "[fede");
  EXPECT_THAT(Look(), ElementsAre("run.new"));
  Write("run/letter.txt", "not a run");
  EXPECT_THAT(Look(), ElementsAre("run.foreign"));
  WriteRun();
  EXPECT_THAT(Look(), ElementsAre("run.goes-on"));
  EXPECT_THAT(Look("ours"), ElementsAre("run.goes-on"));
  EXPECT_THAT(Look("theirs"), ElementsAre("run.other-federation"));
}

TEST_F(RunTest, IsInUseOrFinished) {
  WriteRun();
  {
    const Result<store::ProcessLock> held =
        store::ProcessLock::Take(Path("run/state.db.lock"), "the state");
    ASSERT_TRUE(held);
    Write("run/address", "0.0.0.0:7740\n");
    EXPECT_THAT(Look(), ElementsAre("run.in-use"));
    EXPECT_EQ(GatherRun(Path("run"), Files()).address, "0.0.0.0:7740");
  }
  Write("run/summary.json", R"({"complete": true})");
  EXPECT_THAT(Look(), ElementsAre("run.finished"));
}

TEST_F(RunTest, LacksModelsOrFiles) {
  WriteRun();
  fs::remove(Path("run/initial.metis"));
  EXPECT_THAT(Look(), ElementsAre("run.incomplete"));
  WriteRun();
  for (const auto& entry : fs::directory_iterator(Path("run/blobs"))) {
    if (entry.path().filename().string().size() == 64) fs::resize_file(entry.path(), 8);
  }
  EXPECT_THAT(Look(), ElementsAre("run.models-missing"));
}

TEST_F(RunTest, HasARecordAndAStateThatBelongTogether) {
  constexpr const char* kLine = "{\"t_ns\":1,\"event\":\"lost\",\"learner\":1}\n";
  WriteRun();
  Write("run/events.jsonl", kLine);
  EXPECT_THAT(Look(), ElementsAre("run.goes-on"));
  Write("run/events.jsonl", Text(kLine, kLine));
  EXPECT_THAT(Look(), ElementsAre("run.state-behind"));
  Write("run/models.f32", "");
  Change("INSERT INTO snapshots VALUES (3, 1, x'00', '', 0)");
  EXPECT_THAT(Look(), ElementsAre("run.record-behind"));
  Write("run/events.jsonl", Text(kLine, kLine, kLine));
  EXPECT_THAT(Look(), ElementsAre("run.goes-on"));
  fs::remove(Path("run/models.f32"));
  EXPECT_THAT(Look(), ElementsAre("run.incomplete"));
  Write("run/models.f32", "");
  fs::remove(Path("run/events.jsonl"));
  EXPECT_THAT(Look(), ElementsAre("run.incomplete"));
}

TEST_F(RunTest, IsOfANewerProgramOrDamaged) {
  WriteRun();
  Change("UPDATE meta SET format = 9");
  EXPECT_THAT(Look(), ElementsAre("run.newer"));
  Write("run/state.db", "scribbled over");
  EXPECT_THAT(Look(), ElementsAre("run.damaged"));
}

TEST_F(RunTest, CannotBeLookedInto) {
  Write("run", "a file, where a directory should be");
  EXPECT_THAT(Look(), ElementsAre("run.hidden"));
}

// --- Data.

class DataTest : public rpc::FileTest {
 protected:
  Findings Look(const std::string& what, const std::map<std::string, std::string>& model = {}) {
    const Result<data::Dataset> set = data::LoadFile(what);
    EXPECT_TRUE(set.ok()) << (set ? "" : set.error().message);
    DataFacts facts = DescribeData(what, *set, nullptr, false);
    facts.model = model;
    return CheckData(facts);
  }
};

TEST_F(DataTest, AFileIsReadAndComparedWithTheModel) {
  const std::string file = Write("points.csv", "x,y,label\n1,2,0\n3,4,0\n5,6,1\n7,8,1\n9,1,2\n");
  const Findings findings = Look(file);
  ASSERT_THAT(IdsOf(findings), ElementsAre("data.good", "data.thin"));
  EXPECT_THAT(findings[0].what, HasSubstr("5 examples of 1x1x2, 3 classes"));
  EXPECT_THAT(IdsOf(Look(file, {{"example", "1x1x2"}, {"classes", "3"}})),
              ElementsAre("data.good", "data.thin"));
  EXPECT_THAT(IdsOf(Look(file, {{"example", "1x1x2"}, {"classes", "4"}})),
              ElementsAre("data.good", "data.thin", "data.other-model"));
}

}  // namespace
}  // namespace metis::doctor
