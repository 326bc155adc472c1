// How much memory this machine has for us. Linux: read from /proc and from the control group of
// this process, anew with every call, which costs a few small files. Any thread may call it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace metis::machine {

// In bytes.
struct Memory {
  uint64_t total = 0;  // that this process may ever have: the machine's, or its control group's
  // That it may still take without swapping. What the control group has used counts as used up,
  // though much of it may be a cache of files that would make room.
  uint64_t free = 0;
  // The same, were all of that a cache: never too few.
  uint64_t free_at_most = 0;
};

// Empty if the system does not say. `proc` and `cgroup` are where it tells of itself.
std::optional<Memory> ReadMemory(const std::string& proc = "/proc",
                                 const std::string& cgroup = "/sys/fs/cgroup");

// Memory that a process, by its number, has now; 0 if it is gone.
uint64_t ResidentBytes(std::string_view process = "self");

}  // namespace metis::machine
