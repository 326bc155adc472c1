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

// Tells two listeners, the first one first. Both outlive it; null is nobody.
class BothRecorders final : public Recorder {
 public:
  BothRecorders(Recorder* first, Recorder* second) : first_(first), second_(second) {}

  void Event(Instant now, const federation::Event& event) override {
    if (first_ != nullptr) first_->Event(now, event);
    if (second_ != nullptr) second_->Event(now, event);
  }
  void Action(Instant now, const federation::Action& action) override {
    if (first_ != nullptr) first_->Action(now, action);
    if (second_ != nullptr) second_->Action(now, action);
  }

 private:
  Recorder* const first_;
  Recorder* const second_;
};

}  // namespace metis::drivers
