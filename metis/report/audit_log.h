// What an operator should be able to look up later: who was refused, and why. A file of JSON lines
// that only grows; a line is written by one call of the system. What a peer said can neither break
// a line nor make it long. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "metis/core/result.h"

namespace metis::report {

inline constexpr size_t kMostAuditedCharacters = 500;  // of a field; what is longer ends in "..."

class AuditLog {
 public:
  // Goes on with the file if it is there.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& path);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // `when` is the clock's time in UTC, "2024-05-17T09:30:00Z", and becomes the field "time", before
  // all others. Bytes that are no UTF-8 are replaced, all but plain ASCII is escaped.
  Result<void> Append(const std::string& when, const std::map<std::string, std::string>& fields);

 private:
  AuditLog(std::string path, int descriptor, bool torn)
      : path_(std::move(path)), descriptor_(descriptor), torn_(torn) {}

  // Constant after construction.
  const std::string path_;
  const int descriptor_;
  // Guarded by the mutex.
  std::mutex mutex_;
  bool torn_;  // the file ends within a line: a crash or a full disk cut it
};

}  // namespace metis::report
