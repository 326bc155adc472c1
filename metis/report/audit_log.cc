#include "metis/report/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "metis/core/text.h"
#include "metis/report/json_archive.h"

namespace metis::report {
namespace {

Error Failed(std::string_view what, const std::string& path) {
  return Unavailable(
      Text("cannot ", what, " ", path, ": ", std::generic_category().message(errno)));
}

// Continuation bytes of UTF-8 belong to the character before them.
bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::string Bounded(std::string_view text) {
  size_t characters = 0;
  // Four bytes a character at most: continuation bytes without end count for nothing else.
  for (size_t at = 0; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && characters++ == kMostAuditedCharacters) {
      return std::string(text.substr(0, at)) + "...";
    }
    if (at == 4 * kMostAuditedCharacters) return std::string(text.substr(0, at)) + "...";
  }
  return std::string(text);
}

bool EndsWithinLine(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return Failed("write", path);
  return std::unique_ptr<AuditLog>(new AuditLog(path, file, EndsWithinLine(file)));
}

AuditLog::~AuditLog() { ::close(descriptor_); }

Result<void> AuditLog::Append(const std::string& when,
                              const std::map<std::string, std::string>& fields) {
  Json json;
  json["time"] = Bounded(when);
  for (const auto& [name, value] : fields) {
    if (name != "time") json[Bounded(name)] = Bounded(value);
  }
  const std::string line = json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  // The lock is held while writing: whether the line before is whole decides how this one begins.
  std::lock_guard guard(mutex_);
  const std::string text = (torn_ ? "\n" : "") + line;
  ssize_t written = -1;
  do {
    written = ::write(descriptor_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return Failed("write", path_);
  torn_ = written != static_cast<ssize_t>(text.size());
  if (!torn_) return {};
  errno = ENOSPC;
  return Failed("write all of a line to", path_);
}

}  // namespace metis::report
