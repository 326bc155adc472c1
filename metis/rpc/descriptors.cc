#include "metis/rpc/descriptors.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "metis/core/text.h"

namespace metis::rpc {
namespace {

constexpr int kProbeMilliseconds = 5000;
constexpr size_t kReserved = 2;  // either end of a connection to ourselves

// Closes a descriptor when it goes.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  const int value_;
};

bool Wait(int socket, short events) {
  pollfd wanted{socket, events, 0};
  return poll(&wanted, 1, kProbeMilliseconds) == 1;
}

bool DescriptorsRanOut() {
  const Descriptor probe(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return probe.get() < 0 && (errno == EMFILE || errno == ENFILE);
}

}  // namespace

Result<std::string> RaiseDescriptorLimit(uint32_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Unavailable(Text("the limit of open files is unknown: ", std::strerror(errno)));
  }
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  const uint64_t allowed = limit.rlim_cur;
  const uint64_t wanted = uint64_t{connections} + kOtherDescriptors;
  if (allowed >= wanted) return std::string();
  const std::string words =
      Text("at most ", allowed, " files may be open, and ", connections,
           " connections (network.max_connections) need ", wanted,
           ": raise the limit (ulimit -n, LimitNOFILE=), or lower network.max_connections");
  if (allowed < kOtherDescriptors) return Invalid(words);
  return words;
}

bool ServesNewConnections(const HostPort& address, bool tls) {
  const bool any = address.host == "0.0.0.0" || address.host == "::" || address.host.empty();
  const std::string host = !any ? address.host : address.host == "::" ? "::1" : "127.0.0.1";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    return true;  // cannot be known
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const Descriptor socket(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return true;
  if (connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    return false;
  }
  if (!Wait(socket.get(), POLLOUT)) return false;
  // A plain server greets with its settings; one with TLS waits for us, and closes when we do.
  if (tls) shutdown(socket.get(), SHUT_WR);
  if (!Wait(socket.get(), POLLIN)) return false;
  char byte = 0;
  const ssize_t got = read(socket.get(), &byte, 1);
  return tls ? got >= 0 || errno == ECONNRESET : got == 1;
}

AcceptWatch::AcceptWatch(Options options) : options_(std::move(options)) {
  Reserve();
  thread_ = std::thread([this] { Run(); });
}

AcceptWatch::~AcceptWatch() {
  {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
  Release();
}

void AcceptWatch::Reserve() {
  while (reserve_.size() < kReserved) {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    reserve_.push_back(fd);
  }
}

void AcceptWatch::Release() {
  for (const int fd : reserve_) close(fd);
  reserve_.clear();
}

void AcceptWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return stopped_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void AcceptWatch::Look() {
  if (!accepting_) return;
  const bool none = DescriptorsRanOut();
  const bool failed = suspected_.exchange(false);
  if (none && !std::exchange(starved_, true)) {
    options_.say("file descriptors ran out: nobody new can connect (ulimit -n, LimitNOFILE=)");
  }
  if (!failed && (none || !starved_)) return;
  Release();
  const bool serves = ServesNewConnections(options_.address, options_.tls);
  Reserve();
  if (serves) {
    // While there are none, somebody else may have been quicker to take the reserve.
    if (none) suspected_ = true;
    if (!none && std::exchange(starved_, false)) options_.say("file descriptors are free again");
    return;
  }
  accepting_ = false;
  options_.say(Text("new connections to port ", options_.address.port,
                    " are no longer answered, because file descriptors had run out: this program "
                    "must be started again"));
  if (options_.on_deaf) options_.on_deaf();
}

}  // namespace metis::rpc
