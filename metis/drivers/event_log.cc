#include "metis/drivers/event_log.h"

namespace metis::drivers {

Result<void> MemoryEventLog::Append(Instant time, const federation::Event& event) {
  state_.events.push_back({time, event});
  return {};
}

Result<void> MemoryEventLog::SaveSnapshot(Archived snapshot) {
  before_snapshot_ += state_.events.size();
  state_.snapshot = std::move(snapshot);
  state_.events.clear();
  return {};
}

}  // namespace metis::drivers
