// Progress of long work on standard error: a bar that redraws itself on a terminal, a plain line
// now and then elsewhere. One thread uses it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace metis::apps {

class Progress {
 public:
  // `label` says what is going on.
  explicit Progress(std::string label);
  ~Progress();

  // `part` in [0, 1]; `details` may be anything short. Cheap: draws only a few times a second.
  void Update(double part, std::string_view details);
  // The same, with details that are worked out only when they are drawn.
  void Update(double part, const std::function<std::string()>& details);

 private:
  bool IsTime();
  void Draw(double part, std::string_view details);

  const std::string label_;
  const bool terminal_;
  std::chrono::steady_clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace metis::apps
