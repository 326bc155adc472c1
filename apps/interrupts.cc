#include "apps/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include "apps/cli.h"

namespace metis::apps {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interrupts::Interrupts() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::jthread([this](const std::stop_token& done) { Watch(done); });
}

Interrupts::~Interrupts() = default;

void Interrupts::Watch(const std::stop_token& done) {
  const sigset_t signals = Signals();
  const timespec pause{0, 100'000'000};
  while (!done.stop_requested()) {
    if (sigtimedwait(&signals, nullptr, &pause) < 0) continue;
    if (!source_.request_stop()) _exit(kFailed);
  }
}

}  // namespace metis::apps
