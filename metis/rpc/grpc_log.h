// What gRPC itself complains of. A peer whose TLS handshake fails never reaches the service, and a
// connection that cannot be accepted reaches nobody: gRPC's error lines are the only trace of
// either. gRPC has one log for the whole process; it is taken over once, its lines go to everybody
// who listens, and nothing is printed. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace metis::rpc {

class GrpcLog {
 public:
  // Called on gRPC's threads, within its locks: must not call gRPC, and not wait.
  using Hear = std::function<void(const std::string& line)>;

  // Listens for as long as it lives.
  explicit GrpcLog(Hear hear);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;

 private:
  const Hear hear_;
};

// Why a TLS handshake failed, in the words of the line ("certificate verify failed"); empty for a
// line about something else.
std::string HandshakeFailure(std::string_view line);

}  // namespace metis::rpc
