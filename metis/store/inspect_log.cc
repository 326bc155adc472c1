#include "metis/store/inspect_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include "metis/core/text.h"
#include "metis/store/posix_file.h"
#include "metis/store/sqlite.h"
#include "metis/store/sqlite_event_log.h"

namespace metis::store {
namespace {

// SQLite takes a path with options as a URI.
std::string UriOf(const std::string& path, std::string_view options) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (std::string_view("%?# ").find(c) == std::string_view::npos) {
      uri.push_back(c);
      continue;
    }
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri.append(options);
}

// A file whose log was folded into it is read as it is. One that a crash left behind has its log
// beside it, which SQLite reads only where it could write; with this lock it makes no further file.
Result<Database> Open(const std::string& path) {
  std::error_code absent;
  const bool cut_off = std::filesystem::file_size(path + "-wal", absent) > 0 && !absent;
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_URI | (cut_off ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  const std::string uri = UriOf(path, cut_off ? "" : "?immutable=1");
  const int result = sqlite3_open_v2(uri.c_str(), &opened, flags, nullptr);
  Database database(opened);
  if (result != SQLITE_OK) return DatabaseError(opened, path, "opening it");
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (!Statement(opened, "PRAGMA locking_mode = EXCLUSIVE").Run()) {
    return DatabaseError(opened, path, "locking it");
  }
  return database;
}

Error NoLog(const std::string& path, std::string_view why) {
  return Invalid(Text(path, " is damaged: ", why));
}

void AddNames(const std::string& names, std::set<std::string>& all) {
  for (size_t at = 0; at + kNameDigits <= names.size(); at += kNameDigits) {
    all.insert(names.substr(at, kNameDigits));
  }
}

Result<void> ReadRows(sqlite3* database, const std::string& path, LogFacts& facts) {
  std::set<std::string> names;
  Statement rows(database,
                 "SELECT events_before, blobs, events_before FROM snapshots UNION ALL "
                 "SELECT number, blobs, 0 FROM events");
  int result = SQLITE_DONE;
  while ((result = rows.Step()) == SQLITE_ROW) {
    facts.events = std::max(facts.events, static_cast<uint64_t>(rows.Integer(0)));
    facts.events_before = std::max(facts.events_before, static_cast<uint64_t>(rows.Integer(2)));
    AddNames(rows.Bytes(1), names);
  }
  if (result != SQLITE_DONE) return DatabaseError(database, path, "reading it");
  facts.blobs.assign(names.begin(), names.end());
  return {};
}

}  // namespace

std::optional<std::string> LockHolder(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok() || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    return std::nullopt;
  }
  char pid[24] = {};
  const ssize_t got = ::pread(file.get(), pid, sizeof pid - 1, 0);
  return got > 0 ? std::string(pid, static_cast<size_t>(got)) : "?";
}

Result<LogFacts> InspectLog(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) return Failed("reading", path);
  Result<Database> database = Open(path);
  if (!database) return database.error();
  sqlite3* const log = database->get();
  Statement check(log, "PRAGMA quick_check(1)");
  if (check.Step() != SQLITE_ROW) return DatabaseError(log, path, "checking it");
  if (const std::string said = check.Bytes(0); said != "ok") return NoLog(path, said);
  LogFacts facts;
  Statement meta(log, "SELECT format, identity FROM meta");
  if (meta.Step() != SQLITE_ROW) return NoLog(path, "it is not the state of a federation");
  facts.format = meta.Integer(0);
  facts.identity = meta.Bytes(1);
  if (facts.format > kLogFormat) return facts;
  if (Result<void> read = ReadRows(log, path, facts); !read) return read.error();
  return facts;
}

}  // namespace metis::store
