#include "metis/train/instance_pool.h"

namespace metis::train {

InstancePool::Lease InstancePool::Lend() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Instance> instance = std::move(free_.back());
      free_.pop_back();
      return Lease(*this, std::move(instance));
    }
    ++made_;
  }
  return Lease(*this, network_.MakeInstance());
}

void InstancePool::Return(std::unique_ptr<Instance> instance) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(instance));
}

size_t InstancePool::made() const {
  std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace metis::train
