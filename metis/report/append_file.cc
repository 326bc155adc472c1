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
  std::swap(buffer_, other.buffer_);
  return *this;
}

void AppendFile::Append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) (void)Flush();
  if (bytes.size() > kBufferBytes) return Write(bytes);
  buffer_ += bytes;
}

void AppendFile::Write(std::string_view bytes) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
    } else {
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
}

Result<void> AppendFile::state() const {
  if (error_ != 0) return Failed("write", path_, error_);
  return {};
}

Result<void> AppendFile::Flush() {
  Write(buffer_);
  buffer_.clear();
  return state();
}

Result<void> AppendFile::Sync() {
  if (Result<void> flushed = Flush(); !flushed) return flushed;
  if (::fdatasync(descriptor_) != 0) error_ = errno;
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
