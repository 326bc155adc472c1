// File descriptors: this gRPC stops accepting connections for ever once accepting one failed for
// want of a descriptor. So the limit is raised and compared at the start, and a watch looks whether
// the server still hears anybody: at once after a connection could not be accepted, with two
// descriptors that it keeps for that (whoever holds the others may hold them for ever), else when
// descriptors that ran out are free again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace metis::rpc {

// Descriptors that are no connections: log, blobs, database, gRPC's own.
inline constexpr uint64_t kOtherDescriptors = 96;

// Raises the limit of open files as far as this process may. Returns a warning if it is too small
// for so many connections, an error if hardly anything could be open.
Result<std::string> RaiseDescriptorLimit(uint32_t connections);

// Whether the server at the address serves a new connection: within 5 s it says something (`tls`:
// or closes a connection that says nothing). No descriptor for it counts as yes: it is not known.
bool ServesNewConnections(const HostPort& address, bool tls);

class AcceptWatch {
 public:
  struct Options {
    HostPort address;
    bool tls = false;
    std::function<void(const std::string&)> say;
    std::function<void()> on_deaf;  // once
  };
  explicit AcceptWatch(Options options);
  ~AcceptWatch();

  // Any thread: something speaks for it that a connection could not be accepted.
  void Suspect() { suspected_ = true; }
  bool accepting() const { return accepting_; }

 private:
  void Run();
  void Look();
  void Reserve();
  void Release();

  const Options options_;
  std::atomic<bool> suspected_ = false;
  std::atomic<bool> accepting_ = true;
  // The thread's own.
  bool starved_ = false;  // descriptors ran out, and that was said
  std::vector<int> reserve_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace metis::rpc
