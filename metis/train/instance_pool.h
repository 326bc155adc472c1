// Instances of one network, lent out and taken back, so that a thousand learners need no more of
// them than there are threads at work. Any thread may lend and return. Includes libtorch.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "metis/train/network.h"

namespace metis::train {

class InstancePool {
 public:
  explicit InstancePool(const Network& network) : network_(network) {}

  // Returns its instance when it goes.
  class Lease {
   public:
    Lease(InstancePool& pool, std::unique_ptr<Instance> instance)
        : pool_(pool), instance_(std::move(instance)) {}
    ~Lease() { pool_.Return(std::move(instance_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Instance& operator*() { return *instance_; }
    Instance* operator->() { return instance_.get(); }

   private:
    InstancePool& pool_;
    std::unique_ptr<Instance> instance_;
  };

  // One that is free, else a new one. What it was bound to before is unspecified.
  Lease Lend();
  // How many were ever made.
  size_t made() const;

 private:
  void Return(std::unique_ptr<Instance> instance);

  const Network& network_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<Instance>> free_;
  size_t made_ = 0;
};

}  // namespace metis::train
