// What a program that runs long says meanwhile, on standard error: lines, and how far it is (a bar
// below them on a terminal, a plain line now and then elsewhere). Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "apps/progress.h"

namespace metis::apps {

class Console {
 public:
  // `label` says what is going on.
  explicit Console(std::string label);

  // One line.
  void Say(std::string_view line);
  // How far it is; see Progress.
  void Update(double part, const std::function<std::string()>& details);

 private:
  const bool terminal_;
  std::mutex mutex_;
  Progress progress_;  // guarded by mutex_
};

}  // namespace metis::apps
