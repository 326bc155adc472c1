#include "metis/drivers/liveness.h"

#include "metis/core/planted.h"

namespace metis::drivers {

bool LivenessWatch::Handled(const FromParticipant& message,
                            const federation::Membership& membership, Instant now) {
  const federation::Member* member = membership.Find(message.from);
  const bool joined = member != nullptr && member->incarnation() == message.incarnation;
  if (joined || Planted(PlantedBug::kUnjoinedLifeCounts)) {
    Heard(message.from, message.incarnation, now);
  }
  return joined && !message.event && member->presence == federation::Presence::kLost;
}

void LivenessWatch::Heard(LearnerId learner, Incarnation incarnation, Instant now) {
  auto [entry, added] = heard_.emplace(learner, Entry{incarnation, now});
  if (!added && incarnation >= entry->second.incarnation) entry->second = {incarnation, now};
}

std::vector<LivenessWatch::Silent> LivenessWatch::TakeSilent(Instant now) {
  std::vector<Silent> silent;
  for (auto entry = heard_.begin(); entry != heard_.end();) {
    if (now - entry->second.heard < silence_) {
      ++entry;
      continue;
    }
    silent.push_back({entry->first, entry->second.incarnation});
    entry = heard_.erase(entry);
  }
  return silent;
}

void LivenessWatch::Grace(Instant now) {
  for (auto& [learner, entry] : heard_) entry.heard = now;
}

}  // namespace metis::drivers
