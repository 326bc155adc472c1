// The controller of a soak as a process of its own, durable as in production, and what can be seen
// of a process from outside: memory and descriptors. For tests only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "metis/core/testing.h"
#include "tests/soak/options.h"

namespace metis::soak {

// The process's main(): says its port, then "lost NAME" and "refused REASON NAME" as it happens.
// Ends when its input does.
int RunController(const Options& options, const std::string& directory);

class ControllerProcess {
 public:
  // Starts this program again with the role; it listens when this returns.
  explicit ControllerProcess(const Options& options);
  ~ControllerProcess();  // ends it

  uint16_t port() const { return port_; }
  double megabytes() const;      // resident
  uint32_t descriptors() const;  // open
  bool runs() const;
  std::vector<std::string> Lines() const;  // said so far

 private:
  void Listen();

  const TemporaryDirectory directory_;
  pid_t pid_ = 0;
  int input_ = -1;
  FILE* output_ = nullptr;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::thread listener_;
};

}  // namespace metis::soak
