// The socket by which a controller is operated on its own machine: `control.sock` in its run
// directory, or, where that path is too long for a socket, one in a private directory of /tmp. The
// file `control` of the run directory says which, while the controller runs. The controller makes
// it, one process at a time; whoever operates it finds it, and a look costs one connection. No
// threads, no state beside the files.
#pragma once

#include <string>

#include "metis/core/result.h"

namespace metis::service {

inline constexpr const char* kControlSocket = "control.sock";

// The controller's end of it. Whatever it made is removed with it; what a killed controller left
// behind goes when the next one comes.
class ControlSocket {
 public:
  // The run directory exists, and no other controller uses it.
  static Result<ControlSocket> Make(const std::string& run);
  ~ControlSocket();
  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket& operator=(ControlSocket&&) = delete;

  const std::string& path() const { return path_; }  // to listen on
  // Once somebody listens.
  Result<void> Announce() const;

 private:
  ControlSocket(std::string run, std::string path) : run_(std::move(run)), path_(std::move(path)) {}

  std::string run_;
  std::string path_;  // empty: moved away
};

// The path of the socket of the controller that uses this run directory. An error says what the
// directory is instead: kNotFound none of a controller, kUnavailable that of one that is not
// running.
Result<std::string> FindControl(const std::string& run);

// The only run directory below `runs`, or the current directory, whose controller is running. The
// error lists them if there are several.
Result<std::string> FindRunning(const std::string& runs);

}  // namespace metis::service
