#include "metis/sim/event_queue.h"

#include <tuple>

#include "metis/core/check.h"

namespace metis::sim {

bool EventQueue::Later::operator()(const Entry& a, const Entry& b) const {
  return std::tie(a.when, a.owner, a.sequence) > std::tie(b.when, b.owner, b.sequence);
}

void EventQueue::At(Instant when, Owner owner, Task task) {
  METIS_CHECK(when >= now_);
  tasks_.push({when, owner, scheduled_++, std::move(task)});
}

Instant EventQueue::next() const {
  METIS_CHECK(!tasks_.empty());
  return tasks_.top().when;
}

void EventQueue::RunNext() {
  METIS_CHECK(!tasks_.empty());
  // The entry is moved out before it is popped; its order keys stay intact.
  Task task = std::move(const_cast<Entry&>(tasks_.top()).task);
  now_ = tasks_.top().when;
  tasks_.pop();
  ++executed_;
  task();
}

}  // namespace metis::sim
