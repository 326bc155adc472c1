// What the operator hears of a federation while it runs: who comes and goes, what is refused, how
// its phases change. Owned by the controller's loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "metis/core/ids.h"
#include "metis/core/time.h"
#include "metis/federation/controller.h"

namespace metis::drivers {

// A member before an event.
struct Glimpse {
  Incarnation incarnation;
  federation::Presence presence = federation::Presence::kLive;
  Sequence sequence;  // of its latest update
};

// Empty for null.
std::optional<Glimpse> GlimpseOf(const federation::Member* member);

class Announcer {
 public:
  // The controller outlives it; `silence` after which somebody is lost.
  Announcer(const federation::Controller& controller, Duration silence,
            std::function<void(const std::string&)> say)
      : controller_(controller), silence_(silence), say_(std::move(say)) {}

  // The participant's event was handled; it was `before`.
  void Presence(LearnerId learner, const std::optional<Glimpse>& before);
  void Action(Instant now, const federation::Action& action);
  // What may come in floods: not the same words twice within seconds.
  void Sometimes(Instant now, const std::string& text);

 private:
  std::string Title(LearnerId learner) const;

  const federation::Controller& controller_;
  const Duration silence_;
  const std::function<void(const std::string&)> say_;
  std::map<std::string, Instant> said_;
};

}  // namespace metis::drivers
