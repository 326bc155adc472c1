#include "metis/report/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "metis/core/text.h"

namespace metis::report {
namespace {

constexpr size_t kBufferBytes = 8 << 10;  // some lines a call of the system; lost if killed
// Enough for the lines of an event that nobody could foresee would not fit.
constexpr size_t kMostKept = 64 << 20;

Error Failed(std::string_view what, const std::string& path, int error) {
  return Unavailable(
      Text("cannot ", what, " ", path, ": ", std::generic_category().message(error)));
}

}  // namespace

Result<AppendFile> AppendFile::Open(const std::filesystem::path& path, uint64_t kept) {
  AppendFile file;
  file.path_ = path.string();
  file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file.descriptor_ < 0) return Failed("write", file.path_, errno);
  if (::ftruncate(file.descriptor_, static_cast<off_t>(kept)) != 0) {
    return Failed("cut", file.path_, errno);
  }
  return file;
}

AppendFile::~AppendFile() {
  if (descriptor_ < 0) return;
  (void)Flush();  // whoever wants to know has asked before
  ::close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept { *this = std::move(other); }

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(error_, other.error_);
  std::swap(broken_, other.broken_);
  std::swap(buffer_, other.buffer_);
  std::swap(kept_since_error_, other.kept_since_error_);
  return *this;
}

void AppendFile::Append(std::string_view bytes) {
  if (broken_) return;
  if (buffer_.size() + bytes.size() > kBufferBytes) (void)Flush();
  if (error_ == 0) {
    if (bytes.size() > kBufferBytes) bytes.remove_prefix(Write(bytes));
    buffer_ += bytes;  // all of it, or what could not be written
    return;
  }
  kept_since_error_ += bytes.size();
  broken_ = kept_since_error_ > kMostKept;
  if (broken_) {
    buffer_ = std::string();
  } else {
    buffer_ += bytes;
  }
}

// How many of them were written; all, unless error_ is set.
size_t AppendFile::Write(std::string_view bytes) {
  size_t done = 0;
  error_ = 0;
  while (error_ == 0 && done < bytes.size()) {
    const ssize_t written = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  return done;
}

Result<void> AppendFile::state() const {
  if (error_ != 0) return Failed("write", path_, error_);
  return {};
}

Result<void> AppendFile::Flush() {
  if (broken_) return state();
  buffer_.erase(0, Write(buffer_));
  if (error_ == 0) kept_since_error_ = 0;
  return state();
}

Result<void> AppendFile::Ready() {
  if (error_ == 0) return {};
  return Flush();
}

Result<void> AppendFile::Sync() {
  if (Result<void> flushed = Flush(); !flushed) return flushed;
  if (::fdatasync(descriptor_) == 0) return {};
  // What it held may be gone: a later success would say nothing of it.
  error_ = errno;
  broken_ = true;
  return state();
}

Result<void> SyncPath(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failed("open", path.string(), errno);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0) return Failed("make durable", path.string(), error);
  return {};
}

}  // namespace metis::report
