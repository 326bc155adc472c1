// What ends a participant: its own thread looks at it every kLook. Failure is what makes it
// impossible to go on, as its client says it on a thread of its own: the first such error stays.
// Thread-safe.
#pragma once

#include <mutex>
#include <optional>

#include "metis/core/result.h"
#include "metis/core/time.h"

namespace metis::site {

inline constexpr Duration kLook = Duration::Milliseconds(200);
inline constexpr Duration kGrace = Duration::Seconds(5);  // for a participant's last words

class Failure {
 public:
  void Set(const Error& error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  std::optional<Error> Get() const {
    std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace metis::site
