#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "metis/core/text.h"
#include "metis/doctor/gather.h"
#include "metis/machine/disk.h"
#include "metis/machine/memory.h"
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
  const fs::path nearest = machine::NearestExisting(directory);
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) {
    facts.read_only = Text(nearest.string(), ": ", std::generic_category().message(errno));
  }
  facts.free = machine::FreeSpace(directory);
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
  const std::optional<machine::Memory> memory = machine::ReadMemory(proc, cgroup);
  if (!memory) {
    facts.free = Unavailable(Text(proc, "/meminfo has no MemTotal and MemAvailable"));
    return facts;
  }
  facts.total = memory->total;
  facts.free = memory->free;
  return facts;
}

bool HasTimeService() {
  timex clock{};
  return ::adjtimex(&clock) != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
}

}  // namespace metis::doctor
