#include "apps/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "apps/cli.h"

namespace metis::apps {
namespace {

// Set by the signal handler, which may do little more. Libraries start threads before main() does,
// so that a signal cannot be left to one thread by blocking it in the others.
std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free);

void Count(int) {
  if (signals.fetch_add(1) > 0) _exit(kFailed);
}

}  // namespace

Interrupts::Interrupts() {
  struct sigaction action = {};
  action.sa_handler = Count;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  watcher_ = std::jthread([this](const std::stop_token& done) { Watch(done); });
}

Interrupts::~Interrupts() = default;

void Interrupts::Watch(const std::stop_token& done) {
  while (!done.stop_requested() && signals == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (signals > 0) source_.request_stop();
}

}  // namespace metis::apps
