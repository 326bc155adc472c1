// Ctrl-C and SIGTERM for programs that run long: the first asks to end in good order, the second
// ends the process at once. Made by main(), one a process.
#pragma once

#include <stop_token>
#include <thread>

namespace metis::apps {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool asked() const { return source_.stop_requested(); }
  std::stop_token token() const { return source_.get_token(); }

 private:
  void Watch(const std::stop_token& done);

  std::stop_source source_;
  std::jthread watcher_;
};

}  // namespace metis::apps
