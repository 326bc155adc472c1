#include "metis/drivers/event_log.h"

namespace metis::drivers {

Result<void> EventLog::Replay(const OnSnapshot& on_snapshot, const OnEvent& on_event) const {
  Result<Recovered> recovered = Load();
  if (!recovered) return recovered.error();
  if (recovered->snapshot) {
    if (Result<void> told = on_snapshot(*recovered->snapshot); !told) return told;
  }
  for (const LoggedEvent& logged : recovered->events) {
    if (Result<void> told = on_event(logged); !told) return told;
  }
  return {};
}

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
