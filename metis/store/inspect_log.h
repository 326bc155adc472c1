// What the log of a federation holds on disk, told without changing it: for whoever wants to know
// before a controller is started on it, or while one runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"

namespace metis::store {

// Who holds the ProcessLock of this file, as a process id ("?" if it is not told); none: nobody, or
// there is no such file. Looks by taking the lock for a moment.
std::optional<std::string> LockHolder(const std::string& path);

struct LogFacts {
  int64_t format = 0;              // beyond kLogFormat the rest is unknown
  std::string identity;            // whose log it is
  uint64_t events = 0;             // in all, those before the snapshot counted
  uint64_t events_before = 0;      // the snapshot; 0: there is none
  std::vector<std::string> blobs;  // names of the models that it refers to, each once
};

// Of the file of a SqliteEventLog that nobody holds. kInvalid: it is damaged, or no log;
// kUnavailable: it can't be read by this user, or not now. Reads all of the file once; the values
// of rows are not compared with their checksums.
Result<LogFacts> InspectLog(const std::string& path);

}  // namespace metis::store
