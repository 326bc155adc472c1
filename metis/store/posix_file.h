// Files of the operating system, as the store uses them: descriptors that close themselves, whole
// reads and writes, directories made durable, and a lock that dies with its process. Any thread;
// an object belongs to one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "metis/core/result.h"

namespace metis::store {

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }
  bool ok() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// What errno says: "PATH: WHAT failed: ...", with the way out where there is one.
Error Failed(std::string_view what, const std::string& path);

// All of it, whatever it takes; errno is set on false.
bool WriteAll(int file, const void* data, size_t size);
// False at the end of the file too.
bool ReadAll(int file, void* data, size_t size);

// Writes a small file whole or not at all, and onto the disk. Nobody sees it with more rights than
// `mode`.
Result<void> WriteDurably(const std::string& path, std::string_view text, mode_t mode);

// Makes the names in it durable; "" is the current directory.
Result<void> SyncDirectory(const std::filesystem::path& directory);

// Held by one process at a time, and released whichever way that process ends. The file stays: only
// its lock counts.
class ProcessLock {
 public:
  // kUnavailable, with the holder's process id, if another one (or this one) holds it. `what` is
  // what it guards.
  static Result<ProcessLock> Take(const std::string& path, const std::string& what);

 private:
  explicit ProcessLock(File file) : file_(std::move(file)) {}
  File file_;
};

}  // namespace metis::store
