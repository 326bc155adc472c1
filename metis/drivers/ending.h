// How a participant ended, once it has: set by its loop, waited for by whoever started it.
// Thread-safe; the first ending counts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "metis/core/result.h"
#include "metis/core/time.h"

namespace metis::drivers {

class Ending {
 public:
  void Set(Result<std::string> how) {
    {
      std::scoped_lock lock(mutex_);
      if (!how_) how_ = std::move(how);
    }
    reached_.notify_all();
  }

  Result<std::string> Wait() {
    std::unique_lock lock(mutex_);
    reached_.wait(lock, [this] { return how_.has_value(); });
    return *how_;
  }

  // Empty if that was not long enough.
  std::optional<Result<std::string>> WaitFor(Duration longest) {
    std::unique_lock lock(mutex_);
    reached_.wait_for(lock, std::chrono::nanoseconds(longest.nanoseconds()),
                      [this] { return how_.has_value(); });
    return how_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  std::optional<Result<std::string>> how_;
};

}  // namespace metis::drivers
