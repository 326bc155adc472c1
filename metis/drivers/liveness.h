// Who has been heard of lately: the controller's driver asks it whom to report as lost.
// Kept beside the federation, not in it: a driver that was itself suspended calls Grace() instead
// of declaring everybody lost. O(log N) a call. Not thread-safe.
#pragma once

#include <map>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/time.h"
#include "metis/drivers/transport.h"
#include "metis/federation/membership.h"

namespace metis::drivers {

class LivenessWatch {
 public:
  struct Silent {
    LearnerId learner;
    Incarnation incarnation;
  };

  explicit LivenessWatch(Duration silence) : silence_(silence) {}

  // The controller has handled this message. It is a sign of life only of a life that has joined:
  // one that speaks and never joins must not hide that its predecessor is silent. True for a
  // heartbeat of one that counts as lost: LearnerReturned is due. (Most events say so themselves.)
  bool Handled(const FromParticipant& message, const federation::Membership& membership,
               Instant now);

  // A sign of life. An older incarnation's does not count.
  void Heard(LearnerId learner, Incarnation incarnation, Instant now);

  // Those unheard of for `silence`; each is named once, until it is heard again.
  std::vector<Silent> TakeSilent(Instant now);

  // We were not listening ourselves: everybody counts as heard now.
  void Grace(Instant now);

 private:
  struct Entry {
    Incarnation incarnation;
    Instant heard;
  };

  Duration silence_;
  std::map<LearnerId, Entry> heard_;
};

}  // namespace metis::drivers
