#include "metis/store/sqlite.h"

#include <cerrno>
#include <system_error>

#include "metis/core/text.h"

namespace metis::store {
namespace {

bool IsNoSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

Error DatabaseError(sqlite3* database, const std::string& path, std::string_view what) {
  // SQLite keeps the system's word for an opening; of a statement that failed it is still in errno.
  const int latest = errno;
  const int kept = sqlite3_system_errno(database);
  const int code = sqlite3_errcode(database) & 0xFF;  // without what is only detail
  const int system = kept != 0 ? kept : latest;
  const std::string words = sqlite3_errmsg(database);
  const std::string place = Text(path, ": ", what, " failed: ");
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return Invalid(Text(path, " is damaged, or no state of a federation (", words,
                        "): restore it from a copy together with its models, or begin anew in "
                        "another directory; nothing in it was changed"));
  }
  if (code == SQLITE_FULL || (code == SQLITE_IOERR && IsNoSpace(system))) {
    return Unavailable(Text(place, "no space is left: free some; what was there is unharmed"));
  }
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    return Unavailable(Text(place, "another program has the file open: close it there first"));
  }
  if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN || code == SQLITE_PERM) {
    return Unavailable(Text(place, words,
                            system != 0 ? ": " + std::generic_category().message(system) : "",
                            ": allow this user to write the file and its directory, or choose "
                            "another directory"));
  }
  return Unavailable(
      Text(place, words, system != 0 ? ": " + std::generic_category().message(system) : ""));
}

Statement::Statement(sqlite3* database, const char* sql) {
  sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::BindText(std::string_view text) {
  sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindBytes(std::string_view bytes) {
  sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
  return *this;
}

int Statement::Step() {
  // What could not be prepared left its error with the database.
  if (statement_ == nullptr) return SQLITE_ERROR;
  errno = 0;
  return sqlite3_step(statement_);
}

bool Statement::Run() {
  int result = Step();
  while (result == SQLITE_ROW) result = Step();
  return result == SQLITE_DONE;
}

int64_t Statement::Integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

}  // namespace metis::store
