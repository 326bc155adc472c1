#include "metis/authority/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "metis/core/text.h"
#include "metis/store/posix_file.h"
#include "metis/store/sqlite.h"

namespace metis::authority {
namespace {

using store::Statement;

constexpr int64_t kFormat = 1;
constexpr int kPatience_ms = 10'000;  // while another process writes

constexpr const char* kTables[] = {
    "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS invitations (id INTEGER PRIMARY KEY, secret BLOB NOT NULL UNIQUE, "
    "name TEXT NOT NULL, role INTEGER NOT NULL, made INTEGER NOT NULL, expires INTEGER NOT NULL, "
    "used INTEGER NOT NULL, withdrawn INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS certificates (serial TEXT PRIMARY KEY, invitation INTEGER NOT "
    "NULL, name TEXT NOT NULL, role INTEGER NOT NULL, public_key BLOB NOT NULL, issued INTEGER NOT "
    "NULL, not_after INTEGER NOT NULL, revoked INTEGER NOT NULL, pem TEXT NOT NULL)",
};

std::string_view BytesOf(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Role RoleOf(int64_t stored) {
  return stored == 1 ? Role::kObserver : stored == 2 ? Role::kAdmin : Role::kLearner;
}

Verdict Refused(std::string reason, std::string message) {
  Verdict verdict;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  return verdict;
}

}  // namespace

// One connection to the file. One thread at a time.
class Ledger::Connection {
 public:
  static Result<std::unique_ptr<Connection>> Open(const std::string& path);
  ~Connection() { sqlite3_close(database_); }

  sqlite3* get() const { return database_; }
  Error Fault(std::string_view what) const;
  Result<void> Run(const char* sql, std::string_view what) const;

 private:
  Connection(std::string path, sqlite3* database) : path_(std::move(path)), database_(database) {}

  const std::string path_;
  sqlite3* const database_;
};

Result<std::unique_ptr<Ledger::Connection>> Ledger::Connection::Open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  std::unique_ptr<Connection> connection(new Connection(path, opened));
  if (result != SQLITE_OK) return connection->Fault("opening it");
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, kPatience_ms);
  return connection;
}

Error Ledger::Connection::Fault(std::string_view what) const {
  const int code = sqlite3_errcode(database_) & 0xFF;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return Invalid(Text(path_, " is damaged, or no ledger of an authority (",
                        sqlite3_errmsg(database_),
                        "): restore the authority's directory from a copy; nothing was changed"));
  }
  return store::DatabaseError(database_, path_, what);
}

Result<void> Ledger::Connection::Run(const char* sql, std::string_view what) const {
  if (Statement(database_, sql).Run()) return {};
  return Fault(what);
}

Ledger::Ledger(std::string path) : path_(std::move(path)) {}
Ledger::~Ledger() = default;

Result<std::unique_ptr<Ledger>> Ledger::Open(const std::string& path, bool create) {
  std::unique_ptr<Ledger> ledger(new Ledger(path));
  if (Result<void> prepared = ledger->Prepare(create); !prepared) return prepared.error();
  return ledger;
}

Result<void> Ledger::Prepare(bool create) {
  if (create) {  // SQLite gives its other files the rights of this one
    const store::File file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.ok()) return store::Failed("creating it", path_);
  } else if (::access(path_.c_str(), F_OK) != 0 && errno == ENOENT) {
    return NotFound(Text(path_, " is not there: is this the directory of an authority? `metis ca ",
                         "init` makes one"));
  }
  Result<std::unique_ptr<Connection>> writer = Connection::Open(path_);
  if (!writer) return writer.error();
  writer_ = *std::move(writer);
  Statement version(writer_->get(), "PRAGMA user_version");
  if (version.Step() != SQLITE_ROW) return writer_->Fault("reading it");
  const int64_t format = version.Integer(0);
  if (format > kFormat) {
    return Invalid(Text(path_, " is of form ", format, ", and this Metis knows form ", kFormat,
                        ": use the newer Metis that wrote it"));
  }
  version.Step();
  Result<void> set = writer_->Run("PRAGMA synchronous = FULL", "setting it up");
  if (set && format < kFormat) {
    set = writer_->Run("PRAGMA journal_mode = WAL", "opening its journal");
    if (set) set = writer_->Run("BEGIN IMMEDIATE", "locking it");
    for (const char* table : kTables) {
      if (set) set = writer_->Run(table, "making its tables");
    }
    if (set) set = writer_->Run("PRAGMA user_version = 1", "making its tables");
    if (set) set = writer_->Run("COMMIT", "making its tables");
  }
  if (!set) return set;
  Result<std::unique_ptr<Connection>> reader = Connection::Open(path_);
  if (!reader) return reader.error();
  reader_ = *std::move(reader);
  return {};
}

// --- Facts

Result<std::string> Ledger::Fact(const std::string& key) {
  std::scoped_lock lock(read_mutex_);
  Statement find(reader_->get(), "SELECT value FROM facts WHERE key = ?");
  const int found = find.BindText(key).Step();
  if (found == SQLITE_DONE) return std::string();
  if (found != SQLITE_ROW) return reader_->Fault("reading");
  return find.Bytes(0);
}

Result<void> Ledger::SetFact(const std::string& key, const std::string& value) {
  std::scoped_lock lock(write_mutex_);
  Statement set(writer_->get(), "INSERT OR REPLACE INTO facts VALUES (?, ?)");
  if (set.BindText(key).BindText(value).Run()) return {};
  return writer_->Fault("writing");
}

// --- Invitations

Result<void> Ledger::Add(const std::string& secret, const Invitation& invitation) {
  std::scoped_lock lock(write_mutex_);
  const Sha256 hash = Sha256Of(secret);
  Statement add(writer_->get(),
                "INSERT INTO invitations (secret, name, role, made, expires, used, withdrawn) "
                "VALUES (?, ?, ?, ?, ?, 0, 0)");
  add.BindBytes(BytesOf(hash)).BindText(invitation.name);
  add.Bind(static_cast<int64_t>(invitation.role));
  if (add.Bind(invitation.made_s).Bind(invitation.expires_s).Run()) return {};
  return writer_->Fault("keeping the invitation");
}

Result<bool> Ledger::Knows(const std::string& secret) {
  std::scoped_lock lock(read_mutex_);
  const Sha256 hash = Sha256Of(secret);
  Statement find(reader_->get(), "SELECT 1 FROM invitations WHERE secret = ?");
  const int found = find.BindBytes(BytesOf(hash)).Step();
  if (found != SQLITE_ROW && found != SQLITE_DONE) return reader_->Fault("reading");
  return found == SQLITE_ROW;
}

Verdict Ledger::Redeem(const std::string& secret, const std::string& name, const Sha256& public_key,
                       int64_t now_s,
                       const std::function<Result<Issued>(const Invitation&)>& issue) {
  std::scoped_lock lock(write_mutex_);
  if (Result<void> begun = writer_->Run("BEGIN IMMEDIATE", "locking it"); !begun) {
    return Refused("failed", begun.error().message);
  }
  Verdict verdict = RedeemIn(*writer_, secret, name, public_key, now_s, issue);
  Result<void> ended = writer_->Run(verdict.granted() ? "COMMIT" : "ROLLBACK", "writing");
  if (ended) return verdict;
  (void)writer_->Run("ROLLBACK", "undoing");
  return verdict.granted() ? Refused("failed", ended.error().message) : verdict;
}

Verdict Ledger::RedeemIn(Connection& in, const std::string& secret, const std::string& name,
                         const Sha256& public_key, int64_t now_s,
                         const std::function<Result<Issued>(const Invitation&)>& issue) {
  const Sha256 hash = Sha256Of(secret);
  Statement find(in.get(),
                 "SELECT id, name, role, made, expires, used, withdrawn FROM invitations WHERE "
                 "secret = ?");
  const int found = find.BindBytes(BytesOf(hash)).Step();
  if (found == SQLITE_DONE) return Refused("invitation", kNoInvitation);
  if (found != SQLITE_ROW) return Refused("failed", in.Fault("reading").message);
  const int64_t id = find.Integer(0);
  const Invitation invitation{find.Bytes(1),   RoleOf(find.Integer(2)), find.Integer(3),
                              find.Integer(4), find.Integer(5),         find.Integer(6)};
  if (invitation.name != name) {
    return Refused("name", Text("the invitation is for another name than \"", name,
                                "\": use the token as it was given"));
  }
  if (invitation.withdrawn_s != 0) {
    return Refused("withdrawn", Text("the invitation of \"", name, "\" was withdrawn"));
  }
  if (invitation.used_s != 0) {
    Statement before(in.get(),
                     "SELECT pem, serial FROM certificates WHERE invitation = ? AND public_key = ? "
                     "AND revoked = 0");
    if (before.Bind(id).BindBytes(BytesOf(public_key)).Step() != SQLITE_ROW) {
      return Refused("used", Text("the invitation of \"", name,
                                  "\" has been used, and is good for one certificate: ask the "
                                  "operator for another (`metis ca invite ",
                                  name, "`)"));
    }
    return {before.Bytes(0), before.Bytes(1), std::string(NameOf(invitation.role)), true, "", ""};
  }
  if (now_s >= invitation.expires_s) {
    return Refused("expired", Text("the invitation of \"", name,
                                   "\" has expired: ask the operator for another (`metis ca "
                                   "invite ",
                                   name, "`)"));
  }
  Result<Issued> issued = issue(invitation);
  if (!issued) return Refused("failed", issued.error().message);
  Statement use(in.get(), "UPDATE invitations SET used = ? WHERE id = ?");
  Statement keep(in.get(), "INSERT INTO certificates VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)");
  keep.BindText(issued->serial).Bind(id).BindText(name);
  keep.Bind(static_cast<int64_t>(invitation.role)).BindBytes(BytesOf(public_key)).Bind(now_s);
  keep.Bind(issued->not_after_s).BindText(issued->pem);
  if (!use.Bind(now_s).Bind(id).Run() || !keep.Run()) {
    return Refused("failed", in.Fault("keeping the certificate").message);
  }
  return {issued->pem, issued->serial, std::string(NameOf(invitation.role)), false, "", ""};
}

// --- Revocation

Result<Ledger::Revocation> Ledger::Revoke(const std::string& name, int64_t now_s) {
  std::scoped_lock lock(write_mutex_);
  Result<void> done = writer_->Run("BEGIN IMMEDIATE", "locking it");
  if (!done) return done.error();
  Revocation revocation;
  const auto change = [&]() -> Result<void> {
    Statement good(writer_->get(),
                   "SELECT serial FROM certificates WHERE name = ? AND revoked = 0");
    good.BindText(name);
    int step = good.Step();
    for (; step == SQLITE_ROW; step = good.Step()) revocation.serials.push_back(good.Bytes(0));
    if (step != SQLITE_DONE) return writer_->Fault("reading");
    Statement revoke(writer_->get(),
                     "UPDATE certificates SET revoked = ? WHERE name = ? AND revoked = 0");
    if (!revoke.Bind(now_s).BindText(name).Run()) return writer_->Fault("revoking");
    Statement withdraw(writer_->get(),
                       "UPDATE invitations SET withdrawn = ? WHERE name = ? AND used = 0 AND "
                       "withdrawn = 0 AND expires > ?");
    if (!withdraw.Bind(now_s).BindText(name).Bind(now_s).Run()) return writer_->Fault("revoking");
    revocation.invitations = static_cast<uint64_t>(sqlite3_changes(writer_->get()));
    return {};
  };
  done = change();
  if (done) done = writer_->Run("COMMIT", "writing");
  if (done) return revocation;
  (void)writer_->Run("ROLLBACK", "undoing");
  return done.error();
}

Result<bool> Ledger::IsRevoked(const std::string& serial) {
  std::scoped_lock lock(read_mutex_);
  // Changes whenever another connection, of this process or another, has written.
  Statement version(reader_->get(), "PRAGMA data_version");
  if (version.Step() != SQLITE_ROW) return reader_->Fault("reading");
  const int64_t now = version.Integer(0);
  if (data_version_ != now) {
    std::set<std::string> revoked;
    Statement all(reader_->get(), "SELECT serial FROM certificates WHERE revoked != 0");
    int step = all.Step();
    for (; step == SQLITE_ROW; step = all.Step()) revoked.insert(all.Bytes(0));
    if (step != SQLITE_DONE) return reader_->Fault("reading");
    revoked_ = std::move(revoked);
    data_version_ = now;
  }
  return revoked_.contains(serial);
}

// --- All of it

Result<std::vector<Invitation>> Ledger::Invitations() {
  std::scoped_lock lock(read_mutex_);
  std::vector<Invitation> all;
  Statement each(reader_->get(),
                 "SELECT name, role, made, expires, used, withdrawn FROM invitations ORDER BY id");
  int step = each.Step();
  for (; step == SQLITE_ROW; step = each.Step()) {
    all.push_back({each.Bytes(0), RoleOf(each.Integer(1)), each.Integer(2), each.Integer(3),
                   each.Integer(4), each.Integer(5)});
  }
  if (step != SQLITE_DONE) return reader_->Fault("reading");
  return all;
}

Result<std::vector<CertificateRecord>> Ledger::Certificates() {
  std::scoped_lock lock(read_mutex_);
  std::vector<CertificateRecord> all;
  Statement each(reader_->get(),
                 "SELECT serial, name, role, issued, not_after, revoked FROM certificates ORDER BY "
                 "rowid");
  int step = each.Step();
  for (; step == SQLITE_ROW; step = each.Step()) {
    all.push_back({each.Bytes(0), each.Bytes(1), RoleOf(each.Integer(2)), each.Integer(3),
                   each.Integer(4), each.Integer(5)});
  }
  if (step != SQLITE_DONE) return reader_->Fault("reading");
  return all;
}

}  // namespace metis::authority
