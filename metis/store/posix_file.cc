#include "metis/store/posix_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "metis/core/text.h"

namespace metis::store {
namespace {

std::string_view WayOut(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ": free some space there";
    case EACCES:
    case EPERM:
    case EROFS:
      return ": allow this user to write there, or choose another directory";
    default:
      return "";
  }
}

}  // namespace

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error Failed(std::string_view what, const std::string& path) {
  const int error = errno;
  return Unavailable(
      Text(path, ": ", what, " failed: ", std::generic_category().message(error), WayOut(error)));
}

bool WriteAll(int file, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool ReadAll(int file, void* data, size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(file, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

Result<void> WriteDurably(const std::string& path, std::string_view text, mode_t mode) {
  const std::string fresh = path + ".new";
  {
    ::unlink(fresh.c_str());  // a cut-off attempt's, which may have other rights
    const File file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file.ok()) return Failed("creating", fresh);
    // Also where the process's mask would allow less.
    if (::fchmod(file.get(), mode) != 0) return Failed("setting the rights", fresh);
    const bool written = WriteAll(file.get(), text.data(), text.size());
    if (!written || ::fsync(file.get()) != 0) return Failed("writing", fresh);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return Failed("renaming", fresh);
  return SyncDirectory(std::filesystem::path(path).parent_path());
}

Result<void> SyncDirectory(const std::filesystem::path& directory) {
  const std::string path = directory.empty() ? "." : directory.string();
  File file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.ok() || ::fsync(file.get()) != 0) return Failed("making its names durable", path);
  return {};
}

Result<ProcessLock> ProcessLock::Take(const std::string& path, const std::string& what) {
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.ok()) return Failed("opening it", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failed("locking", path);
    char pid[24] = {};
    const ssize_t got = ::pread(file.get(), pid, sizeof pid - 1, 0);
    const std::string_view holder(pid, got > 0 ? static_cast<size_t>(got) : 0);
    return Unavailable(Text(what, " is in use by process ", holder.empty() ? "?" : holder,
                            " (it holds ", path,
                            "): stop that one first, or choose another "
                            "directory"));
  }
  const std::string pid = Text(::getpid());
  // Who holds it is only for the message above: a full disk must not keep anybody from starting.
  if (::ftruncate(file.get(), 0) == 0) (void)WriteAll(file.get(), pid.data(), pid.size());
  return ProcessLock(std::move(file));
}

}  // namespace metis::store
