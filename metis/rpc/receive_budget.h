// The memory that models on their way in may take together. Who comes when it is used up waits its
// turn; whoever comes first goes first. A model larger than all of it still gets through, alone.
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace metis::rpc {

class ReceiveBudget : public std::enable_shared_from_this<ReceiveBudget> {
 public:
  // A share of the budget, returned when it is let go.
  using Lease = std::shared_ptr<void>;

  explicit ReceiveBudget(uint64_t bytes) : bytes_(bytes) {}

  // Calls `granted` with the lease, at once or from the thread that returns enough. Who has given
  // up meanwhile lets its lease go.
  void Acquire(uint64_t bytes, std::function<void(Lease)> granted);
  bool waiting() const;

 private:
  struct Waiter {
    uint64_t bytes;
    std::function<void(Lease)> granted;
  };
  void Return(uint64_t bytes);
  void Grant();

  const uint64_t bytes_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0;
  std::deque<Waiter> waiters_;
};

}  // namespace metis::rpc
