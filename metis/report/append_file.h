// A file that only grows, written through a buffer. What cannot be written (a full disk) is kept
// and tried again with the next call, so that the file has no holes. Whoever goes on appending all
// the same is cut off after 64 MiB: then nothing more is written, and the error stays. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "metis/core/result.h"

namespace metis::report {

class AppendFile {
 public:
  AppendFile() = default;  // of no file
  // Of an existing file the first `kept` bytes stay and the rest is cut off; a missing one is made.
  static Result<AppendFile> Open(const std::filesystem::path& path, uint64_t kept);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  void Append(std::string_view bytes);
  // To the system: a process that is killed does not take it along.
  Result<void> Flush();
  // Without an error so far it costs nothing; else it tries again.
  Result<void> Ready();
  // To the disk.
  Result<void> Sync();

 private:
  size_t Write(std::string_view bytes);
  Result<void> state() const;

  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;        // of errno, of the latest write
  bool broken_ = false;  // the error stays
  std::string buffer_;
  size_t kept_since_error_ = 0;  // bytes appended to the buffer
};

// Makes a file or the names in a directory durable.
Result<void> SyncPath(const std::filesystem::path& path);

}  // namespace metis::report
