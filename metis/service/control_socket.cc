#include "metis/service/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "metis/core/text.h"
#include "metis/report/controller_files.h"
#include "metis/report/run_directory.h"
#include "metis/store/posix_file.h"

namespace metis::service {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kPrivate = "/tmp/metis-control-";

std::string ControlFile(const std::string& run) {
  return (fs::path(run) / report::kControlFile).string();
}

// Empty if there is none. Relative to the run directory, so that a copy of it announces nothing of
// the original.
std::string Announced(const std::string& run) {
  Result<std::string> text = report::ReadRunFile(ControlFile(run));
  if (!text || text->empty() || text->back() != '\n') return {};
  text->pop_back();
  if (text->starts_with(kPrivate)) return *std::move(text);
  if (*text != kControlSocket) return {};
  std::error_code ignored;
  return (fs::absolute(run, ignored) / kControlSocket).lexically_normal().string();
}

void Remove(const std::string& run, const std::string& path) {
  std::error_code ignored;
  fs::remove(ControlFile(run), ignored);
  if (path.empty()) return;
  fs::remove(path, ignored);
  if (path.starts_with(kPrivate)) fs::remove(fs::path(path).parent_path(), ignored);
}

// Somebody accepts connections there: the socket of a killed process accepts none.
bool Answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > kLongestPath) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const store::File file(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return file.ok() &&
         ::connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// A socket outside of the run directory must be of whoever announced it: anybody may make names in
// /tmp once a dead controller's are gone.
bool IsTheirs(const std::string& path, const std::string& run) {
  struct stat socket {};
  struct stat announcement {};
  return ::stat(path.c_str(), &socket) == 0 &&
         ::stat(ControlFile(run).c_str(), &announcement) == 0 &&
         socket.st_uid == announcement.st_uid;
}

Error AnotherUsers(const std::string& path) {
  return Invalid(Text(path, " is another user's: operate the controller as the user who runs it, ",
                      "or with --join and a certificate of the role admin"));
}

Error NotRunning(const std::string& run) {
  return Unavailable(Text("the controller of ", run, " is not running: metis controller --run ",
                          run, " (with its certificates) goes on with it"));
}

}  // namespace

Result<ControlSocket> ControlSocket::Make(const std::string& run) {
  Remove(run, Announced(run));
  std::error_code error;
  const std::string path = (fs::absolute(run, error) / kControlSocket).lexically_normal().string();
  if (error) return Unavailable(Text(run, ": ", error.message()));
  if (path.size() <= kLongestPath) return ControlSocket(run, path);
  std::string pattern = Text(kPrivate, "XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) return store::Failed("making a directory", pattern);
  return ControlSocket(run, Text(pattern, "/", kControlSocket));
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : run_(std::move(other.run_)), path_(std::exchange(other.path_, {})) {}

ControlSocket::~ControlSocket() {
  if (!path_.empty()) Remove(run_, path_);
}

Result<void> ControlSocket::Announce() const {
  const std::string announced = path_.starts_with(kPrivate) ? path_ : std::string(kControlSocket);
  return report::WriteRunFile(ControlFile(run_), announced + "\n");
}

Result<std::string> FindControl(const std::string& run) {
  std::error_code absent;
  if (!fs::is_directory(run, absent)) {
    return NotFound(Text(run, " is no directory: name the run directory of a controller"));
  }
  if (::access(run.c_str(), R_OK | X_OK) != 0) return AnotherUsers(run);
  if (!fs::exists(fs::path(run) / report::kEventsFile, absent)) {
    return NotFound(Text(run, " is no run directory: it has no ", report::kEventsFile));
  }
  const std::string path = Announced(run);
  if (path.empty() || !IsTheirs(path, run)) return NotRunning(run);
  if (::access(path.c_str(), W_OK) != 0) {
    return AnotherUsers(path);
  }
  if (!Answers(path)) return NotRunning(run);
  return path;
}

Result<std::string> FindRunning(const std::string& runs) {
  std::vector<std::string> running;
  const auto look = [&](const fs::path& path) {
    if (FindControl(path.string())) running.push_back(path.string());
  };
  look(".");
  std::error_code error;
  for (fs::directory_iterator i(runs, error), end; !error && i != end; i.increment(error)) {
    look(i->path());
  }
  std::sort(running.begin(), running.end());
  if (running.size() == 1) return running.front();
  if (running.empty()) {
    return NotFound(Text("no controller is running here or below ", runs,
                         ": name its run directory, or --join HOST:PORT"));
  }
  return Invalid(Text("several controllers are running, name one: ", Join(running)));
}

}  // namespace metis::service
