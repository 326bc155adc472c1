#include "metis/rpc/receive_budget.h"

#include <utility>

namespace metis::rpc {

void ReceiveBudget::Acquire(uint64_t bytes, std::function<void(Lease)> granted) {
  {
    std::scoped_lock lock(mutex_);
    waiters_.push_back({bytes, std::move(granted)});
  }
  Grant();
}

bool ReceiveBudget::waiting() const {
  std::scoped_lock lock(mutex_);
  return !waiters_.empty();
}

void ReceiveBudget::Return(uint64_t bytes) {
  {
    std::scoped_lock lock(mutex_);
    used_ -= bytes;
  }
  Grant();
}

void ReceiveBudget::Grant() {
  while (true) {
    Waiter next;
    {
      std::scoped_lock lock(mutex_);
      if (waiters_.empty()) return;
      const bool fits = used_ + waiters_.front().bytes <= bytes_;
      if (!fits && used_ > 0) return;
      next = std::move(waiters_.front());
      waiters_.pop_front();
      used_ += next.bytes;
    }
    Lease lease(nullptr,
                [self = shared_from_this(), bytes = next.bytes](void*) { self->Return(bytes); });
    next.granted(std::move(lease));
  }
}

}  // namespace metis::rpc
