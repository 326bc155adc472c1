// Virtual time: tasks in the order (time, owner, when they were scheduled). The clock jumps from
// task to task, so a cluster-hour costs only the work in it, and the order is the same on every
// machine. One thread owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "metis/core/time.h"

namespace metis::sim {

// Ties are ordered by owner: a learner's number, or one of these.
using Owner = uint64_t;
inline constexpr Owner kControllerOwner = std::numeric_limits<uint64_t>::max();

class EventQueue {
 public:
  using Task = std::function<void()>;

  Instant now() const { return now_; }
  // Checked: not in the past.
  void At(Instant when, Owner owner, Task task);
  void After(Duration delay, Owner owner, Task task) { At(now_ + delay, owner, std::move(task)); }

  bool empty() const { return tasks_.empty(); }
  Instant next() const;  // checked: not empty
  // Advances the clock to the next task and runs it. Checked: not empty.
  void RunNext();
  uint64_t executed() const { return executed_; }

 private:
  struct Entry {
    Instant when;
    Owner owner;
    uint64_t sequence;
    Task task;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const;
  };

  Instant now_;
  uint64_t scheduled_ = 0;
  uint64_t executed_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, Later> tasks_;
};

}  // namespace metis::sim
