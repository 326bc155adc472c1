// SQLite as the event log uses it: statements that finish themselves, and errors that name the file
// and the way out. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "metis/core/result.h"

namespace metis::store {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// What the latest call on `database` failed with.
Error DatabaseError(sqlite3* database, const std::string& path, std::string_view what);

// One prepared statement. Text and bytes that are bound must live until it is run.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(int64_t value);
  Statement& BindText(std::string_view text);
  Statement& BindBytes(std::string_view bytes);

  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step();
  // Runs a statement that has no rows, or whose rows do not matter.
  bool Run();

  int64_t Integer(int column) const;
  std::string Bytes(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace metis::store
