#include "metis/store/sqlite_event_log.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metis/drivers/durable_controller.h"
#include "metis/drivers/testing.h"
#include "metis/store/spilling_model_store.h"
#include "metis/store/testing.h"

namespace metis::store {
namespace {

namespace fs = std::filesystem;
using drivers::DurableController;
using drivers::LoggedEvent;
using federation::Event;
using ::testing::HasSubstr;

std::string HashForm(const Event& event) {
  BinaryWriter writer(BinaryWriter::Mode::kHash);
  writer("event", event);
  return writer.archived().bytes;
}

class SqliteEventLogTest : public ::testing::Test {
 protected:
  SqliteEventLogTest() { drivers::Play(harness_); }

  Result<std::unique_ptr<SqliteEventLog>> TryOpen(const std::string& identity = "ours") {
    if (!blobs_) blobs_ = BlobStore::Open(home_ / "blobs", harness_.models().pool()).value();
    return SqliteEventLog::Open(path_, *blobs_, identity);
  }
  std::unique_ptr<SqliteEventLog> Open() { return TryOpen().value(); }
  std::string Refusal(const std::string& identity = "ours") {
    Result<std::unique_ptr<SqliteEventLog>> opened = TryOpen(identity);
    return opened ? "opened" : opened.error().message;
  }
  // A log with the whole history; snapshots are not made.
  void Fill() {
    auto log = Open();
    for (const auto& [time, event] : history()) ASSERT_TRUE(log->Append(time, event));
  }
  void Change(const std::string& sql) { ExecuteSql(path_, sql); }
  const std::vector<std::pair<Instant, Event>>& history() const { return harness_.history(); }
  void ExpectHistory(const std::vector<LoggedEvent>& events, size_t from) {
    ASSERT_EQ(from + events.size(), history().size());
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].time, history()[from + i].first);
      EXPECT_EQ(HashForm(events[i].event), HashForm(history()[from + i].second)) << i;
    }
  }

  TemporaryDirectory home_;
  const std::string path_ = home_ / "state.db";
  federation::Harness harness_{federation::SettingsFor("async-dvw", 3)};
  std::unique_ptr<BlobStore> blobs_;
};

TEST_F(SqliteEventLogTest, EventsReadBackInOrderWithTheirModels) {
  EXPECT_TRUE(Open()->Load().value().events.empty());
  Fill();
  blobs_ = nullptr;
  auto log = Open();
  drivers::Recovered recovered = log->Load().value();
  EXPECT_FALSE(recovered.snapshot);
  EXPECT_EQ(log->events_before_snapshot(), 0u);
  ExpectHistory(recovered.events, 0);
}

TEST_F(SqliteEventLogTest, ASnapshotReplacesTheEventsBeforeItAndTheirModels) {
  const ModelPtr one = harness_.models().From(41), two = harness_.models().From(42);
  const uint64_t size = one->bytes().size();
  auto log = Open();
  for (size_t i = 0; i < 12; ++i) {
    ASSERT_TRUE(log->Append(history()[i].first, history()[i].second));
  }
  ASSERT_TRUE(log->SaveSnapshot({"state", {one, two, one}}));
  EXPECT_EQ(log->events_before_snapshot(), 12u);
  for (size_t i = 12; i < history().size(); ++i) {
    ASSERT_TRUE(log->Append(history()[i].first, history()[i].second));
  }
  log = nullptr;
  blobs_ = nullptr;
  log = Open();
  EXPECT_EQ(log->events_before_snapshot(), 12u);
  drivers::Recovered recovered = log->Load().value();
  ASSERT_TRUE(recovered.snapshot);
  EXPECT_EQ(recovered.snapshot->bytes, "state");
  ASSERT_EQ(recovered.snapshot->models.size(), 3u);
  EXPECT_TRUE(SameBits(ModelAt(*recovered.snapshot, 1), two));
  ExpectHistory(recovered.events, 12);
  recovered = {};
  ASSERT_TRUE(log->SaveSnapshot({"later", {two}}));
  EXPECT_EQ(log->events_before_snapshot(), history().size());
  EXPECT_EQ(blobs_->bytes(), size) << "nobody holds or names the others any more";
  EXPECT_EQ(log->Load().value().snapshot->bytes, "later");
}

TEST_F(SqliteEventLogTest, AModelThatIsKeptButNotYetAppendedOutlivesASnapshot) {
  auto log = Open();
  federation::UpdateReceived update = harness_.Updating(0, 9, 0.125f);
  ASSERT_TRUE(blobs_->Keep(update.model));  // by the thread that received it
  ASSERT_TRUE(log->SaveSnapshot({"state", {}}));
  ASSERT_TRUE(log->Append(Instant(), update));
  const ModelPtr model = update.model;
  update.model = nullptr;
  log = nullptr;
  blobs_ = nullptr;
  const drivers::Recovered recovered = Open()->Load().value();
  EXPECT_TRUE(
      SameBits(std::get<federation::UpdateReceived>(recovered.events[0].event).model, model));
}

struct Restarts {
  uint64_t snapshot_every;
  bool spilling;
};
class RestartEvery : public SqliteEventLogTest, public ::testing::WithParamInterface<Restarts> {
 protected:
  std::unique_ptr<DurableController> OpenController(SqliteEventLog& log) {
    drivers::DurableOptions options{.snapshot_every = GetParam().snapshot_every};
    if (GetParam().spilling) {
      options.store =
          std::make_unique<SpillingModelStore>(*blobs_, harness_.initial()->bytes().size());
    }
    return DurableController::Open(harness_.settings(), harness_.initial(),
                                   harness_.models().pool(), log, std::move(options))
        .value();
  }
};

TEST_P(RestartEvery, AControllerOnDiskGoesOnExactlyWhereItWas) {
  federation::Harness expected(harness_.settings());
  std::vector<federation::Action> actions;
  uint64_t before = 0;
  for (const auto& [time, event] : history()) {
    auto log = Open();
    auto controller = OpenController(*log);
    if (before != 0) {
      ASSERT_EQ(controller->controller().StateHash(), before);
    }
    actions.clear();
    ASSERT_TRUE(controller->Handle(time, event, actions));
    expected.After(time - expected.now());
    expected.Send(event);
    before = expected.controller().StateHash();
    ASSERT_EQ(controller->controller().StateHash(), before);
    ASSERT_EQ(federation::DescribeAll(actions), federation::DescribeAll(expected.actions()));
    controller = nullptr;
    log = nullptr;
    blobs_ = nullptr;
  }
  EXPECT_EQ(before, harness_.controller().StateHash());
  const uint64_t every = GetParam().snapshot_every;
  EXPECT_EQ(Open()->events_before_snapshot(), (history().size() - 1) / every * every);
}

INSTANTIATE_TEST_SUITE_P(Events, RestartEvery,
                         ::testing::Values(Restarts{1, false}, Restarts{4, false},
                                           Restarts{1000, false}, Restarts{1, true},
                                           Restarts{4, true}));

// --- What is refused, and that it is left as it is -----------------------------------------------

TEST_F(SqliteEventLogTest, ASecondProcessIsToldWhoHoldsIt) {
  auto log = Open();
  const std::string said = Refusal();
  EXPECT_THAT(said, HasSubstr(Text(path_, " is in use by process ", ::getpid())));
  EXPECT_THAT(said, HasSubstr("stop that one first"));
}

TEST_F(SqliteEventLogTest, AProgramThatReadsTheFileIsNoReasonToHang) {
  Fill();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "BEGIN; SELECT count(*) FROM events", nullptr, nullptr, nullptr),
            SQLITE_OK);
  EXPECT_THAT(Refusal(), HasSubstr("another program has the file open"));
  sqlite3_close(database);
  EXPECT_EQ(Refusal(), "opened");
}

TEST_F(SqliteEventLogTest, ANewerFormatIsLeftToItsProgram) {
  Fill();
  Change("UPDATE meta SET format = 7");
  const auto before = AllFiles(home_.path());
  EXPECT_EQ(Refusal(), path_ +
                           " was written by a newer metis (format 7, this program knows 1): use "
                           "that program");
  EXPECT_TRUE(AllFiles(home_.path()) == before);
  Change("UPDATE meta SET format = 0");
  EXPECT_THAT(Refusal(), HasSubstr("format 0, which never existed"));
}

TEST_F(SqliteEventLogTest, TheLogOfAnotherFederationIsRefused) {
  Fill();
  const auto before = AllFiles(home_.path());
  EXPECT_THAT(Refusal("theirs"),
              HasSubstr("belongs to another federation (\"ours\", this is \"theirs\")"));
  EXPECT_TRUE(AllFiles(home_.path()) == before);
}

TEST_F(SqliteEventLogTest, TheDatabaseOfAnotherProgramIsRefused) {
  Change("CREATE TABLE recipes (name TEXT)");
  const auto before = AllFiles(home_.path());
  EXPECT_THAT(Refusal(), HasSubstr("is a database, but not the state of a federation"));
  EXPECT_TRUE(BytesOf(path_) == before.at(path_));
  Change("CREATE TABLE meta (format INTEGER, identity TEXT)");
  EXPECT_THAT(Refusal(), HasSubstr("is a database, but not the state of a federation"));
}

TEST_F(SqliteEventLogTest, AFileThatIsNoDatabaseIsRefusedAndKept) {
  PutBytes(path_, std::string(5000, 'M'));
  EXPECT_THAT(Refusal(), HasSubstr(path_ + " is damaged"));
  EXPECT_EQ(BytesOf(path_), std::string(5000, 'M'));
}

TEST_F(SqliteEventLogTest, ADamagedFileGivesTheTrueHistoryOrAnError) {
  Fill();
  const std::string good = BytesOf(path_);
  size_t noticed = 0;
  for (size_t at = 0; at < good.size(); at += 61) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x21);
    PutBytes(path_, bad);
    Result<std::unique_ptr<SqliteEventLog>> log = TryOpen();
    Result<drivers::Recovered> loaded = log ? (*log)->Load() : log.error();
    if (loaded) {
      ExpectHistory(loaded->events, 0);
    } else {
      ++noticed;
      EXPECT_THAT(loaded.error().message, HasSubstr(path_));
      if (!log) {
        EXPECT_TRUE(BytesOf(path_) == bad) << at;
      }
    }
    log = Unavailable("");
    for (const char* rest : {"-wal", "-journal", "-shm"}) fs::remove(path_ + rest);
  }
  EXPECT_GT(noticed, 20u) << "of " << good.size() / 61;
}

TEST_F(SqliteEventLogTest, AChangedRowAndAMissingOneAreNamed) {
  Fill();
  auto loading = [&] { return Open()->Load().error().message; };
  Change("UPDATE events SET time_ns = time_ns + 1 WHERE number = 5");
  EXPECT_THAT(loading(), HasSubstr("event 5 does not match its checksum"));
  Change("DELETE FROM events WHERE number = 5");
  EXPECT_THAT(loading(), HasSubstr("event 5 is missing"));
  Change("DELETE FROM events WHERE number < 5");
  EXPECT_THAT(loading(), HasSubstr("event 1 is missing"));
}

TEST_F(SqliteEventLogTest, AMissingModelIsNamedWithItsEvent) {
  Fill();
  blobs_ = nullptr;
  for (const auto& [path, bytes] : AllFiles(home_ / "blobs")) {
    if (!path.ends_with("lock")) fs::remove(path);
  }
  const std::string said = Open()->Load().error().message;
  EXPECT_THAT(said, HasSubstr(path_ + ": event 4: "));
  EXPECT_THAT(said, HasSubstr("No such file"));
}

TEST_F(SqliteEventLogTest, AMissingModelIsNamedWithItsSnapshot) {
  auto log = Open();
  ASSERT_TRUE(log->Append(history()[0].first, history()[0].second));
  ASSERT_TRUE(log->SaveSnapshot(harness_.controller().Snapshot()));
  log = nullptr;
  blobs_ = nullptr;
  for (const auto& [path, bytes] : AllFiles(home_ / "blobs")) {
    if (!path.ends_with("lock")) fs::remove(path);
  }
  log = Open();
  const auto opened = DurableController::Open(harness_.settings(), harness_.initial(),
                                              harness_.models().pool(), *log, {});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr(path_ + ": the snapshot after event 1: "));
  EXPECT_THAT(opened.error().message, HasSubstr("No such file"));
}

TEST_F(SqliteEventLogTest, AFullDiskRefusesAnEventAndHarmsNothing) {
  auto log = Open();
  size_t appended = 0;
  std::string said;
  {
    FullDisk full(40'000);
    for (; appended < history().size() && said.empty(); ++appended) {
      if (Result<void> done = log->Append(history()[appended].first, history()[appended].second);
          !done) {
        EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
        said = done.error().message;
        break;
      }
    }
    ASSERT_GT(appended, 1u);
    ASSERT_LT(appended, history().size());
    EXPECT_FALSE(log->SaveSnapshot({std::string(100'000, 's'), {}}));
  }
  EXPECT_THAT(said, HasSubstr(path_ + ": writing failed: no space is left"));
  EXPECT_EQ(log->Load().value().events.size(), appended);
  EXPECT_FALSE(log->Load().value().snapshot);
  for (size_t i = appended; i < history().size(); ++i) {
    ASSERT_TRUE(log->Append(history()[i].first, history()[i].second)) << "space again";
  }
  log = nullptr;
  ExpectHistory(Open()->Load().value().events, 0);
}

// Another user, where this one may do anything.
TEST_F(SqliteEventLogTest, AFileThatMayOnlyBeReadIsSaid) {
  Fill();
  fs::permissions(path_, fs::perms(0444));
  fs::permissions(path_ + ".lock", fs::perms(0666));
  fs::permissions(home_.path(), fs::perms(0755));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const std::string said = Refusal();
    const bool told = ::write(ends[1], said.data(), said.size()) == ssize_t(said.size());
    ::_exit(told ? 0 : 3);
  }
  ::close(ends[1]);
  std::string said(1000, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(ends[0], said.data(), said.size()))));
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(said, HasSubstr(path_ + ": the file can only be read: allow this user to write it"));
}

TEST_F(SqliteEventLogTest, ADirectoryThatIsNotThereIsSaid) {
  (void)TryOpen();
  Result<std::unique_ptr<SqliteEventLog>> opened =
      SqliteEventLog::Open(home_ / "no/such/state.db", *blobs_, "ours");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace metis::store
