#include "metis/store/sqlite_event_log.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/store/posix_file.h"
#include "metis/store/sqlite.h"

namespace metis::store {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFormat = kLogFormat;
// Sizes that a row may have: SQLite's own bound, said in our words before it says it in its own.
constexpr size_t kMostBytes = 999'000'000;

// A row of either table. `number` is the event's, or that of the last event before the snapshot.
struct Row {
  int64_t number = 0;
  int64_t time_ns = 0;  // 0 for a snapshot
  std::string bytes;
  std::string blobs;  // names of models, 64 digits each

  int64_t Checksum() const {
    BinaryWriter writer;
    writer("number", number);
    writer("time", time_ns);
    writer("bytes", bytes);
    writer("blobs", blobs);
    return std::bit_cast<int64_t>(Fingerprint(writer.archived().bytes));
  }
};

constexpr std::string_view kTheSnapshot = "the snapshot after event";

Result<std::string> KeepAll(BlobStore& blobs, const Archived& archived) {
  std::string names;
  for (size_t i = 0; i < archived.models.size(); ++i) {
    const auto file = archived.files.find(i);
    Result<std::string> name =
        file != archived.files.end() ? file->second : blobs.Keep(archived.models[i]);
    if (!name) return name.error();
    METIS_CHECK(name->size() == kNameDigits);
    names += *name;
  }
  return names;
}

std::vector<std::string> SplitNames(const std::string& names) {
  std::vector<std::string> split;
  for (size_t at = 0; at < names.size(); at += kNameDigits) {
    split.push_back(names.substr(at, kNameDigits));
  }
  return split;
}

}  // namespace

struct SqliteEventLog::State {
  State(std::string place, BlobStore& store, ProcessLock own)
      : path(std::move(place)), blobs(store), lock(std::move(own)) {}

  Error Fault(std::string_view what) const { return DatabaseError(database.get(), path, what); }
  Error Damaged(std::string_view what) const {
    return Invalid(Text(path, " is damaged: ", what,
                        ": restore it from a copy together with its models, or begin anew in "
                        "another directory; nothing in it was changed"));
  }
  Result<void> Run(const char* sql, std::string_view what) const {
    if (!Statement(database.get(), sql).Run()) return Fault(what);
    return {};
  }

  Result<void> Connect();
  Result<void> CheckWhole() const;
  Result<bool> IsNew() const;
  Result<void> CheckOwner(const std::string& identity) const;
  Result<void> MakeDurable() const;
  Result<void> MakeTables(const std::string& identity) const;
  Result<void> FindEnd();
  Result<void> Insert(const char* sql, const Row& row) const;
  Result<void> ReplaceSnapshot(const Row& row) const;
  Result<Row> CheckedRow(const Statement& rows, std::string_view of) const;
  Result<ModelPtr> ReadModel(const std::string& name, std::string_view of, int64_t number) const;
  Result<Archived> AssembleEvent(Row row) const;
  Result<void> Tell(Row snapshot, const OnSnapshot& on_snapshot) const;
  void TidyUpAtTheEnd();

  const std::string path;
  BlobStore& blobs;
  const ProcessLock lock;
  Database database;
  int64_t before_snapshot = 0;  // events
  int64_t last = 0;             // number of the latest event
  bool tidies_up = false;       // folds its journal into the file when it is closed
};

// --- Opening -------------------------------------------------------------------------------------

Result<void> SqliteEventLog::State::Connect() {
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database.reset(opened);
  if (result != SQLITE_OK) return Fault("opening it");
  sqlite3_extended_result_codes(opened, 1);
  // Closing must not tidy up a file that turns out not to be ours, or to be damaged.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (sqlite3_db_readonly(opened, "main") == 1) {
    return Unavailable(Text(path,
                            ": the file can only be read: allow this user to write it and "
                            "its directory, or choose another directory"));
  }
  return Run("PRAGMA locking_mode = EXCLUSIVE", "locking it");
}

Result<void> SqliteEventLog::State::CheckWhole() const {
  Statement check(database.get(), "PRAGMA quick_check(1)");
  if (check.Step() != SQLITE_ROW) return Fault("checking it");
  std::string said = check.Bytes(0);
  std::ranges::replace(said, '\n', ' ');
  if (said != "ok") return Damaged(said);
  return {};
}

Result<bool> SqliteEventLog::State::IsNew() const {
  Statement count(database.get(), "SELECT count(*) FROM sqlite_master");
  if (count.Step() != SQLITE_ROW) return Fault("reading it");
  return count.Integer(0) == 0;
}

Result<void> SqliteEventLog::State::CheckOwner(const std::string& identity) const {
  Statement meta(database.get(), "SELECT format, identity FROM meta");
  const int result = meta.Step();
  const bool other = result == SQLITE_DONE || sqlite3_errcode(database.get()) == SQLITE_ERROR;
  if (result != SQLITE_ROW && !other) return Fault("reading it");
  if (result != SQLITE_ROW) {  // no such table, or nothing in it
    return Invalid(Text(path,
                        " is a database, but not the state of a federation: choose another "
                        "directory; nothing in it was changed"));
  }
  if (const int64_t format = meta.Integer(0); format > kFormat) {
    return Invalid(Text(path, " was written by a newer metis (format ", format,
                        ", this program knows ", kFormat, "): use that program"));
  } else if (format < kFormat) {
    return Damaged(Text("it says that it has format ", format, ", which never existed"));
  }
  if (const std::string owner = meta.Bytes(1); owner != identity) {
    return Invalid(Text(path, " belongs to another federation (\"", owner, "\", this is \"",
                        identity,
                        "\"): start it with the configuration and the initial model that "
                        "it began with, or choose another directory"));
  }
  return {};
}

Result<void> SqliteEventLog::State::MakeDurable() const {
  Statement mode(database.get(), "PRAGMA journal_mode = WAL");
  if (mode.Step() != SQLITE_ROW) return Fault("opening its journal");
  if (const std::string got = mode.Bytes(0); got != "wal") {
    return Unavailable(Text(path,
                            ": the file system allows no write-ahead log (SQLite stays with "
                            "\"",
                            got, "\"): choose a directory on a local disk"));
  }
  return Run("PRAGMA synchronous = FULL", "setting it up");
}

Result<void> SqliteEventLog::State::MakeTables(const std::string& identity) const {
  for (const char* sql : {
           "BEGIN IMMEDIATE",
           "CREATE TABLE meta (format INTEGER NOT NULL, identity TEXT NOT NULL)",
           "CREATE TABLE events (number INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, "
           "bytes BLOB NOT NULL, blobs TEXT NOT NULL, checksum INTEGER NOT NULL)",
           "CREATE TABLE snapshots (events_before INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, "
           "bytes BLOB NOT NULL, blobs TEXT NOT NULL, checksum INTEGER NOT NULL)",
       }) {
    if (Result<void> made = Run(sql, "making its tables"); !made) return made;
  }
  Statement meta(database.get(), "INSERT INTO meta VALUES (?, ?)");
  if (!meta.Bind(kFormat).BindText(identity).Run()) return Fault("making its tables");
  if (Result<void> made = Run("COMMIT", "making its tables"); !made) return made;
  return SyncDirectory(fs::absolute(path).parent_path());
}

Result<void> SqliteEventLog::State::FindEnd() {
  Statement ends(database.get(),
                 "SELECT (SELECT coalesce(max(events_before), 0) FROM snapshots), "
                 "(SELECT coalesce(max(number), 0) FROM events)");
  if (ends.Step() != SQLITE_ROW) return Fault("reading it");
  before_snapshot = ends.Integer(0);
  last = std::max(before_snapshot, ends.Integer(1));
  return {};
}

SqliteEventLog::SqliteEventLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
SqliteEventLog::~SqliteEventLog() = default;

Result<std::unique_ptr<SqliteEventLog>> SqliteEventLog::Open(const std::string& path,
                                                             BlobStore& blobs,
                                                             const std::string& identity,
                                                             bool has_events) {
  Result<ProcessLock> lock = ProcessLock::Take(path + ".lock", path);
  if (!lock) return lock.error();
  auto state = std::make_unique<State>(path, blobs, *std::move(lock));
  if (Result<void> connected = state->Connect(); !connected) return connected.error();
  if (Result<void> whole = state->CheckWhole(); !whole) return whole.error();
  Result<bool> is_new = state->IsNew();
  if (!is_new) return is_new.error();
  if (*is_new && has_events) return state->Damaged("there is nothing in it");
  if (!*is_new) {
    if (Result<void> ours = state->CheckOwner(identity); !ours) return ours.error();
  }
  if (Result<void> durable = state->MakeDurable(); !durable) return durable.error();
  if (*is_new) {
    if (Result<void> made = state->MakeTables(identity); !made) return made.error();
  }
  if (Result<void> found = state->FindEnd(); !found) return found.error();
  return std::unique_ptr<SqliteEventLog>(new SqliteEventLog(std::move(state)));
}

// Whoever writes has read it all.
void SqliteEventLog::State::TidyUpAtTheEnd() {
  if (std::exchange(tidies_up, true)) return;
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

// --- Writing -------------------------------------------------------------------------------------

Result<void> SqliteEventLog::State::Insert(const char* sql, const Row& row) const {
  if (row.bytes.size() > kMostBytes) {
    return Invalid(Text(path, ": ", row.bytes.size(), " bytes are more than a row can hold (",
                        kMostBytes, ")"));
  }
  Statement insert(database.get(), sql);
  insert.Bind(row.number).Bind(row.time_ns).BindBytes(row.bytes).BindText(row.blobs);
  if (!insert.Bind(row.Checksum()).Run()) return Fault("writing");
  return {};
}

Result<void> SqliteEventLog::Append(Instant time, const federation::Event& event) {
  BinaryWriter writer;
  writer("event", event);
  Archived archived = std::move(writer).Take();
  Result<std::string> names = KeepAll(state_->blobs, archived);
  if (!names) return names.error();
  const Row row{state_->last + 1, time.nanoseconds(), std::move(archived.bytes), *std::move(names)};
  Result<void> appended = state_->Insert("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row);
  if (!appended) return appended;
  ++state_->last;
  state_->TidyUpAtTheEnd();
  return {};
}

Result<void> SqliteEventLog::State::ReplaceSnapshot(const Row& row) const {
  if (Result<void> begun = Run("BEGIN IMMEDIATE", "writing"); !begun) return begun;
  Result<void> done = Run("DELETE FROM snapshots", "writing");
  if (done) done = Insert("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)", row);
  if (done) done = Run("DELETE FROM events", "writing");  // all of them are before it
  if (done) done = Run("COMMIT", "writing");
  if (!done && sqlite3_get_autocommit(database.get()) == 0) {
    Statement(database.get(), "ROLLBACK").Run();
  }
  return done;
}

Result<void> SqliteEventLog::SaveSnapshot(Archived snapshot) {
  Result<std::string> names = KeepAll(state_->blobs, snapshot);
  if (!names) return names.error();
  const Row row{state_->last, 0, std::move(snapshot.bytes), *std::move(names)};
  if (Result<void> replaced = state_->ReplaceSnapshot(row); !replaced) return replaced;
  state_->before_snapshot = state_->last;
  state_->TidyUpAtTheEnd();
  const std::vector<std::string> named = SplitNames(row.blobs);
  // The snapshot is saved whatever comes of this: what stays goes with the next one.
  (void)state_->blobs.RemoveAllBut({named.begin(), named.end()});
  return {};
}

// --- Reading -------------------------------------------------------------------------------------

Result<Row> SqliteEventLog::State::CheckedRow(const Statement& rows, std::string_view of) const {
  Row row{rows.Integer(0), rows.Integer(1), rows.Bytes(2), rows.Bytes(3)};
  if (row.Checksum() != rows.Integer(4) || row.blobs.size() % kNameDigits != 0) {
    return Damaged(Text(of, " ", row.number, " does not match its checksum"));
  }
  return row;
}

Result<ModelPtr> SqliteEventLog::State::ReadModel(const std::string& name, std::string_view of,
                                                  int64_t number) const {
  Result<ModelPtr> model = blobs.Read(name);
  if (!model) return model.error().In(Text(path, ": ", of, " ", number));
  return model;
}

Result<Archived> SqliteEventLog::State::AssembleEvent(Row row) const {
  Archived archived{std::move(row.bytes), {}};
  for (const std::string& name : SplitNames(row.blobs)) {
    Result<ModelPtr> model = ReadModel(name, "event", row.number);
    if (!model) return model.error();
    archived.models.push_back(*std::move(model));
  }
  return archived;
}

// Its models are read when they are asked for: they may be more than memory holds.
Result<void> SqliteEventLog::State::Tell(Row snapshot, const OnSnapshot& on_snapshot) const {
  Archived archived{std::move(snapshot.bytes), {}};
  for (std::string& name : SplitNames(snapshot.blobs)) {
    archived.files[archived.models.size()] = std::move(name);
    archived.models.push_back(nullptr);
  }
  const auto unreadable = std::make_shared<std::optional<Error>>();
  archived.read = [this, unreadable, number = snapshot.number](const std::string& name) {
    Result<ModelPtr> model = ReadModel(name, kTheSnapshot, number);
    if (!model) *unreadable = model.error();
    return model;
  };
  Result<void> told = on_snapshot(archived);
  if (!told && *unreadable) return **unreadable;
  if (!told) return told.error().In(path);
  return told;
}

Result<void> SqliteEventLog::Replay(const OnSnapshot& on_snapshot, const OnEvent& on_event) const {
  const State& state = *state_;
  {
    Statement rows(state.database.get(), "SELECT * FROM snapshots");
    int result = rows.Step();
    if (result == SQLITE_ROW) {
      Result<Row> row = state.CheckedRow(rows, kTheSnapshot);
      if (!row) return row.error();
      Result<void> told = state.Tell(*std::move(row), on_snapshot);
      if (!told) return told;
    } else if (result != SQLITE_DONE) {
      return state.Fault("reading");
    }
  }
  Statement rows(state.database.get(), "SELECT * FROM events ORDER BY number");
  int64_t expected = state.before_snapshot + 1;
  int result = SQLITE_DONE;
  for (; (result = rows.Step()) == SQLITE_ROW; ++expected) {
    Result<Row> row = state.CheckedRow(rows, "event");
    if (!row) return row.error();
    if (row->number != expected) return state.Damaged(Text("event ", expected, " is missing"));
    const Instant time = Instant::FromNanoseconds(row->time_ns);
    Result<Archived> archived = state.AssembleEvent(*std::move(row));
    if (!archived) return archived.error();
    drivers::LoggedEvent logged{time, {}};
    BinaryReader reader(*archived);
    reader("event", logged.event);
    if (Result<void> whole = reader.Finish(); !whole) {
      return state.Damaged(Text("event ", expected, ": ", whole.error().message));
    }
    if (Result<void> told = on_event(logged); !told) return told;
  }
  if (result != SQLITE_DONE) return state.Fault("reading");
  if (expected != state.last + 1) return state.Damaged(Text("event ", expected, " is missing"));
  return {};
}

Result<drivers::Recovered> SqliteEventLog::Load() const {
  drivers::Recovered recovered;
  Result<void> told = Replay(
      [&](const Archived& snapshot) -> Result<void> {
        recovered.snapshot = snapshot;
        return {};
      },
      [&](const drivers::LoggedEvent& logged) -> Result<void> {
        recovered.events.push_back(logged);
        return {};
      });
  if (!told) return told.error();
  return recovered;
}

uint64_t SqliteEventLog::events() const { return static_cast<uint64_t>(state_->last); }

uint64_t SqliteEventLog::events_before_snapshot() const {
  return static_cast<uint64_t>(state_->before_snapshot);
}

}  // namespace metis::store
