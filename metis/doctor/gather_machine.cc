#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "metis/core/text.h"
#include "metis/doctor/gather.h"
#include "metis/rpc/descriptors.h"

namespace metis::doctor {
namespace {

namespace fs = std::filesystem;

struct RemoteKind {
  uint32_t magic;  // as in statfs(2)
  const char* name;
};
constexpr RemoteKind kRemote[] = {
    {0x6969, "nfs"},      {0x517B, "smb"},       {0xFF534D42, "cifs"},   {0xFE534D42, "smb2"},
    {0x5346414F, "afs"},  {0x00C36400, "ceph"},  {0x0BD00BD0, "lustre"}, {0x01021997, "9p"},
    {0x47504653, "gpfs"}, {0x19830326, "fhgfs"},
};

std::string Words(int error) { return std::generic_category().message(error); }

// The directory itself, or the nearest above it that exists.
fs::path Nearest(const std::string& directory) {
  std::error_code error;
  fs::path path = fs::absolute(directory.empty() ? "." : directory, error);
  while (path != path.root_path() && !fs::exists(path, error)) path = path.parent_path();
  return path;
}

// "MemAvailable:   1234 kB"
std::optional<uint64_t> MeminfoBytes(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key + ":")) continue;
    std::istringstream words(line.substr(key.size() + 1));
    if (uint64_t kilobytes = 0; words >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<uint64_t> ReadNumber(const fs::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // "max", or not there
}

// What a unit or a container may have is less than what the machine has.
void BoundByGroup(const std::string& proc, const std::string& cgroup, MemoryFacts& facts) {
  std::istringstream lines(ReadAll(fs::path(proc) / "self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    const fs::path group = fs::path(cgroup) / line.substr(4);
    const std::optional<uint64_t> most = ReadNumber(group / "memory.max");
    if (!most) return;
    const uint64_t used = ReadNumber(group / "memory.current").value_or(0);
    facts.total = std::min(facts.total, *most);
    facts.free = std::min(*facts.free, *most - std::min(*most, used));
  }
}

}  // namespace

FileLimitFacts GatherFileLimit(uint32_t connections) {
  FileLimitFacts facts;
  facts.connections = connections;
  facts.least = rpc::kOtherDescriptors;
  facts.needed = uint64_t{connections} + rpc::kOtherDescriptors;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.allowed = limit.rlim_max;
  return facts;
}

DiskFacts GatherDisk(const std::string& directory) {
  DiskFacts facts;
  facts.directory = directory;
  const fs::path nearest = Nearest(directory);
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) {
    facts.read_only = Text(nearest.string(), ": ", Words(errno));
  }
  std::error_code error;
  const fs::space_info space = fs::space(nearest, error);
  facts.free = error ? Result<uint64_t>(Unavailable(error.message()))
                     : Result<uint64_t>(uint64_t{space.available});
  struct statfs system {};
  if (::statfs(nearest.c_str(), &system) == 0) {
    for (const RemoteKind& kind : kRemote) {
      if (static_cast<uint32_t>(system.f_type) == kind.magic) facts.remote = kind.name;
    }
  }
  return facts;
}

MemoryFacts GatherMemory(const std::string& proc, const std::string& cgroup) {
  MemoryFacts facts;
  const std::string text = ReadAll(fs::path(proc) / "meminfo");
  const std::optional<uint64_t> total = MeminfoBytes(text, "MemTotal");
  const std::optional<uint64_t> free = MeminfoBytes(text, "MemAvailable");
  if (!total || !free) {
    facts.free = Unavailable(Text(proc, "/meminfo has no MemTotal and MemAvailable"));
    return facts;
  }
  facts.total = *total;
  facts.free = *free;
  BoundByGroup(proc, cgroup, facts);
  return facts;
}

bool HasTimeService() {
  timex clock{};
  return ::adjtimex(&clock) != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
}

}  // namespace metis::doctor
