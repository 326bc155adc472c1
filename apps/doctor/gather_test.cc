// The facts as they are gathered: real ports, real handshakes, real files.
#include "apps/doctor/gather.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sqlite3.h>
#include <sys/socket.h>

#include <ctime>
#include <filesystem>

#include "apps/doctor/checks.h"
#include "metis/rpc/clock_service.h"
#include "metis/rpc/testing.h"
#include "metis/store/posix_file.h"
#include "metis/store/sqlite_event_log.h"
#include "proto/metis/v1/federation.grpc.pb.h"

namespace metis::apps::doctor {
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

std::vector<std::string> IdsOf(const Findings& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

// A port of this machine that is listened on and never answered.
class Occupied {
 public:
  explicit Occupied(int backlog = 8) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    METIS_CHECK(::bind(socket_, reinterpret_cast<sockaddr*>(&own), size) == 0);
    METIS_CHECK(::listen(socket_, backlog) == 0);
    METIS_CHECK(::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size) == 0);
    port_ = ntohs(own.sin_port);
  }
  ~Occupied() { ::close(socket_); }
  std::string address() const { return Text("127.0.0.1:", port_); }

 private:
  int socket_;
  uint16_t port_ = 0;
};

TEST(GatherListen, TellsFreeFromTaken) {
  EXPECT_THAT(IdsOf(CheckListen(GatherListen("0.0.0.0:0"), nullptr)), ElementsAre("listen.free"));
  const Occupied other;
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

// --- A controller's port, with and without certificates.

class JoinTest : public rpc::FileTest {
 protected:
  ~JoinTest() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  void Serve(std::shared_ptr<grpc::ServerCredentials> credentials, bool with_clock = true) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
    if (with_clock) {
      clock_ = rpc::MakeClockService();
    } else {
      other_ = std::make_unique<v1::Federation::Service>();  // as before there were clocks
    }
    builder.RegisterService(with_clock ? clock_.get() : other_.get());
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(server_ && port > 0);
    address_ = Text("127.0.0.1:", port);
  }
  void ServeTls(const CertificateSpec& spec, const Identity& ca, bool with_clock = true) {
    const Identity own = MakeCertificate(spec, &ca);
    grpc::SslServerCredentialsOptions tls(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = CertificatePem(ca_);
    tls.pem_key_cert_pairs = {{KeyPem(own), CertificatePem(own)}};
    Serve(grpc::SslServerCredentials(tls), with_clock);
  }
  rpc::TlsFiles FilesOf(const Identity& ca) const {
    const Identity own = MakeCertificate({.name = "site-3"}, &ca);
    return {Write("ca.pem", CertificatePem(ca_)), Write("own.pem", CertificatePem(own)),
            Write("own.key", KeyPem(own))};
  }
  Findings Join(const rpc::TlsFiles& files, bool insecure = false) const {
    return CheckJoin(GatherJoin(address_, files, insecure), Now());
  }

  const Identity ca_ = MakeCa();
  const CertificateSpec controller_{.name = "controller", .also = "IP:127.0.0.1"};
  std::unique_ptr<grpc::Service> clock_, other_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST_F(JoinTest, AControllerThatIsInOrder) {
  ServeTls(controller_, ca_);
  const rpc::TlsFiles files = FilesOf(ca_);
  EXPECT_THAT(IdsOf(Join(files)), ElementsAre("join.reached", "tls.good", "tls.welcome"));
  EXPECT_THAT(IdsOf(CheckClock(GatherClock(address_, files, false))), ElementsAre("clock.good"));
}

TEST_F(JoinTest, WithoutAnAuthorityNothingIsChecked) {
  ServeTls(controller_, ca_);
  EXPECT_THAT(IdsOf(Join({})), ElementsAre("join.reached", "tls.unverified"));
  const ClockFacts clock = GatherClock(address_, {}, false);
  ASSERT_FALSE(clock.ahead_s);
  EXPECT_THAT(clock.ahead_s.error().message, HasSubstr("no certificate"));
}

TEST_F(JoinTest, AStrangersControllerRefusesUsAsWeRefuseIt) {
  ServeTls(controller_, MakeCa("another CA"));
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))),
              ElementsAre("join.reached", "tls.stranger", "tls.welcome"));
}

TEST_F(JoinTest, ACertificateForAnotherHost) {
  ServeTls({.name = "fed.example"}, ca_);
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))),
              ElementsAre("join.reached", "tls.other-host", "tls.welcome"));
}

TEST_F(JoinTest, AControllerWhoseCertificateIsOverOrNotYetValid) {
  CertificateSpec spec = controller_;
  spec.days = -1;
  spec.from_days = -9;
  ServeTls(spec, ca_);
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))), ElementsAre("join.reached", "tls.expired", "tls.welcome"));
  server_->Shutdown(std::chrono::system_clock::now());
  spec = controller_;
  spec.from_days = 2;
  ServeTls(spec, ca_);
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))), ElementsAre("join.reached", "tls.early", "tls.welcome"));
}

TEST_F(JoinTest, OurCertificateOfAnotherAuthorityIsRefused) {
  ServeTls(controller_, ca_);
  const Identity other = MakeCa("another CA");
  const Identity own = MakeCertificate({.name = "site-3"}, &other);
  // Our own authority vouches for both, the controller's only for one.
  const rpc::TlsFiles files{Write("ca.pem", CertificatePem(other) + CertificatePem(ca_)),
                            Write("own.pem", CertificatePem(own)), Write("own.key", KeyPem(own))};
  EXPECT_THAT(IdsOf(Join(files)), ElementsAre("join.reached", "tls.good", "tls.unwelcome"));
}

TEST_F(JoinTest, PlainTextAndTlsDoNotUnderstandEachOther) {
  Serve(grpc::InsecureServerCredentials());
  EXPECT_THAT(IdsOf(Join({}, /*insecure=*/true)), ElementsAre("join.reached", "join.insecure"));
  EXPECT_THAT(IdsOf(CheckClock(GatherClock(address_, {}, true))), ElementsAre("clock.good"));
  EXPECT_THAT(IdsOf(Join(FilesOf(ca_))), ElementsAre("join.reached", "join.plain"));
  server_->Shutdown(std::chrono::system_clock::now());
  ServeTls(controller_, ca_);
  EXPECT_THAT(IdsOf(Join({}, /*insecure=*/true)), ElementsAre("join.reached", "join.other"));
}

TEST_F(JoinTest, AnEarlierProgramDoesNotTellItsTime) {
  Serve(grpc::InsecureServerCredentials(), /*with_clock=*/false);
  EXPECT_THAT(IdsOf(CheckClock(GatherClock(address_, {}, true))), ElementsAre("clock.untold"));
}

TEST_F(JoinTest, WhereNothingListens) {
  { address_ = Occupied().address(); }
  EXPECT_THAT(IdsOf(Join({})), ElementsAre("join.refused"));
  address_ = "no such host:7740";
  EXPECT_THAT(IdsOf(Join({})), ElementsAre("join.malformed"));
  address_ = "no-such-host.invalid:7740";
  EXPECT_THAT(IdsOf(Join({})), ElementsAre("join.unknown-host"));
}

TEST_F(JoinTest, WhereNobodyAnswers) {
  const Occupied full(0);
  std::vector<int> waiting;
  Result<rpc::HostPort> to = rpc::ParseHostPort(full.address());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(to->port);
  for (int i = 0; i < 4; ++i) {  // the queue is full: further ones are dropped, as by a firewall
    waiting.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(waiting.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  const JoinFacts facts = GatherJoin(full.address(), {}, false, 0.2);
  EXPECT_THAT(IdsOf(CheckJoin(facts, Now())), ElementsAre("join.silent"));
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
  std::vector<std::string> Look(const std::optional<std::string>& identity = std::nullopt) const {
    return IdsOf(CheckRun(GatherRun(Path("run")), identity, "federation.toml"));
  }
  void Change(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(Path("run/state.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

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
    EXPECT_EQ(GatherRun(Path("run")).address, "0.0.0.0:7740");
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
    data::DataSource source;
    source.what = what;
    source.directory = Path("sets");
    return CheckData(GatherData(source, model));
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

TEST_F(DataTest, WhatCannotBeReadIsSaidInTheReadersWords) {
  for (const std::string& what : {Path("absent.npz"), std::string("fashion-mnsit"),
                                  Write("broken.npz", "PK but no archive")}) {
    EXPECT_THAT(IdsOf(Look(what)), ElementsAre("data.bad")) << what;
  }
}

}  // namespace
}  // namespace metis::apps::doctor
