// Ports of 127.0.0.1, for tests of what happens below HTTP and gRPC. For tests only.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::machine {

// What bind() and connect() take; port 0 is any free one.
inline sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// A free port that is listened on and never answered.
class SilentListener {
 public:
  explicit SilentListener(int backlog = 8)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = LoopbackAddress(0);
    socklen_t size = sizeof own;
    METIS_CHECK(::bind(socket_, reinterpret_cast<sockaddr*>(&own), size) == 0);
    METIS_CHECK(::listen(socket_, backlog) == 0);
    METIS_CHECK(::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size) == 0);
    port_ = ntohs(own.sin_port);
  }
  ~SilentListener() { ::close(socket_); }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  uint16_t port() const { return port_; }
  std::string address() const { return Text("127.0.0.1:", port_); }

 private:
  const int socket_;
  uint16_t port_ = 0;
};

}  // namespace metis::machine
