// The ports between a federation and a network. A driver fills one side, a transport the other;
// nothing here waits: what cannot be delivered is dropped, because every participant asks again.
#pragma once

#include <optional>
#include <string>

#include "metis/core/ids.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"

namespace metis::drivers {

// What a participant sends: an event for the controller, or only a sign of life.
struct FromParticipant {
  LearnerId from;
  Incarnation incarnation;
  std::optional<federation::Event> event;  // empty: a heartbeat
};

// Carries the controller's messages to its participants. Thread-safe.
class ControllerTransport {
 public:
  virtual ~ControllerTransport() = default;
  // A message to `to`, in the order of the calls; dropped if it is not connected.
  virtual void Send(LearnerId to, const federation::Action& message) = 0;
  // What a participant said was refused, and it gets no answer (forged counts): for the audit.
  virtual void Refused(LearnerId who, const std::string& reason, const std::string& message) {
    (void)who, (void)reason, (void)message;
  }
};

// Carries a participant's messages to the controller. Thread-safe. An update that is already on
// its way is not sent twice.
class ParticipantTransport {
 public:
  virtual ~ParticipantTransport() = default;
  virtual void Send(federation::Event event) = 0;
};

// Hears the controller's messages to one participant, from any thread.
class ParticipantInbox {
 public:
  virtual ~ParticipantInbox() = default;
  virtual void Receive(federation::Action message) = 0;
  // Another conversation with the controller has begun, which may have been restored from an older
  // copy of its state meanwhile.
  virtual void Reconnected() {}
};

// Whom an action is a message to; empty for timers and notes.
std::optional<LearnerId> Addressee(const federation::Action& action);

}  // namespace metis::drivers
