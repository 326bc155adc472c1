// Listens to a federation: every event that the controller handles, and every action that is a note
// for the record. Implemented by the run directory's writer; a driver calls it, in order, from one
// thread.
#pragma once

#include "metis/core/time.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"

namespace metis::drivers {

class Recorder {
 public:
  virtual ~Recorder() = default;

  virtual void Event(Instant now, const federation::Event& event) = 0;
  // Any action; those that are messages or timers need not be kept.
  virtual void Action(Instant now, const federation::Action& action) = 0;
};

}  // namespace metis::drivers
