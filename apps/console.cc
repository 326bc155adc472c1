#include "apps/console.h"

#include <unistd.h>

#include <iostream>

namespace metis::apps {

Console::Console() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void Console::Say(const std::string& line) {
  std::lock_guard lock(mutex_);
  // Over the bar, which is drawn again below.
  std::cerr << (terminal_ ? "\r\x1b[K" : "") << line << std::endl;
}

void Console::Warn(const std::string& line) { Say("metis: " + line); }

void Console::Begin(const std::string& label) {
  std::lock_guard lock(mutex_);
  progress_.emplace(label);
}

void Console::Update(double part, const std::function<std::string()>& details) {
  std::lock_guard lock(mutex_);
  if (progress_) progress_->Update(part, details);
}

void Console::End() {
  std::lock_guard lock(mutex_);
  progress_.reset();
}

}  // namespace metis::apps
