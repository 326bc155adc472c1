#include "metis/machine/memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "metis/core/text.h"

namespace metis::machine {
namespace {

namespace fs = std::filesystem;

// Of a line "MemAvailable:   1234 kB".
std::optional<uint64_t> ReadMeminfo(const fs::path& meminfo, const std::string& key) {
  std::ifstream file(meminfo);
  for (std::string word; file >> word;) {
    uint64_t kilobytes = 0;
    if (word == key + ":" && file >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

std::optional<uint64_t> ReadNumber(const fs::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // "max", or not there
}

// What a unit or a container may have is less than what the machine has.
void BoundByGroup(const fs::path& group, Memory& memory) {
  const std::optional<uint64_t> most = ReadNumber(group / "memory.max");
  if (!most) return;
  const uint64_t used = ReadNumber(group / "memory.current").value_or(0);
  memory.total = std::min(memory.total, *most);
  memory.free = std::min(memory.free, *most - std::min(*most, used));
  memory.free_at_most = std::min(memory.free_at_most, *most);
}

}  // namespace

std::optional<Memory> ReadMemory(const std::string& proc, const std::string& cgroup) {
  const fs::path meminfo = fs::path(proc) / "meminfo";
  const std::optional<uint64_t> total = ReadMeminfo(meminfo, "MemTotal");
  const std::optional<uint64_t> free = ReadMeminfo(meminfo, "MemAvailable");
  if (!total || !free) return std::nullopt;
  Memory memory{.total = *total, .free = *free, .free_at_most = *free};
  std::ifstream groups(fs::path(proc) / "self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::/")) BoundByGroup(fs::path(cgroup) / line.substr(4), memory);
  }
  return memory;
}

uint64_t ResidentBytes(std::string_view process) {
  std::ifstream file(Text("/proc/", process, "/statm"));
  uint64_t size = 0;
  uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace metis::machine
