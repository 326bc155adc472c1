#include "apps/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "metis/core/text.h"

namespace metis::apps {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

Progress::Progress(std::string label)
    : label_(std::move(label)),
      terminal_(::isatty(STDERR_FILENO) != 0),
      next_(steady_clock::now() + (terminal_ ? milliseconds(100) : milliseconds(2000))) {}

Progress::~Progress() {
  if (terminal_ && drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

bool Progress::IsTime() {
  steady_clock::time_point now = steady_clock::now();
  if (now < next_) return false;
  next_ = now + (terminal_ ? milliseconds(100) : milliseconds(5000));
  drawn_ = true;
  return true;
}

void Progress::Update(double part, std::string_view details) {
  if (IsTime()) Draw(std::clamp(part, 0.0, 1.0), details);
}

void Progress::Update(double part, const std::function<std::string()>& details) {
  if (IsTime()) Draw(std::clamp(part, 0.0, 1.0), details());
}

void Progress::Draw(double part, std::string_view details) {
  std::string percent = Text(static_cast<int>(100 * part), " %");
  if (!terminal_) {
    std::cerr << label_ << ": " << percent << ", " << details << std::endl;
    return;
  }
  constexpr int kWidth = 30;
  auto filled = static_cast<size_t>(part * kWidth);
  std::cerr << "\r\x1b[K" << label_ << " [" << std::string(filled, '#')
            << std::string(kWidth - filled, '.') << "] " << percent << "  " << details
            << std::flush;
}

}  // namespace metis::apps
