#include "apps/console.h"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace metis::apps {

Console::Console(std::string label)
    : terminal_(::isatty(STDERR_FILENO) != 0), progress_(std::move(label)) {}

void Console::Say(std::string_view line) {
  std::lock_guard lock(mutex_);
  // Over the bar, which is drawn again below.
  std::cerr << (terminal_ ? "\r\x1b[K" : "") << line << std::endl;
}

void Console::Update(double part, const std::function<std::string()>& details) {
  std::lock_guard lock(mutex_);
  progress_.Update(part, details);
}

}  // namespace metis::apps
