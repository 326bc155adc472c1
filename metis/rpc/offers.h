// The models that wait to be downloaded by one participant. An offer stays until it is replaced
// (a newer community model), cancelled or answered; one that was sent whole stays for a while,
// because its last bytes may have been lost on the way. Not thread-safe: its participant locks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "metis/core/model.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"

namespace metis::rpc {

class Offers {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMost = 64;  // beyond, the oldest is dropped
  static constexpr std::chrono::seconds kKeepServed{60};

  // `model` as it is transferred, with that fingerprint, for a message that carries one.
  void Add(const federation::Action& message, ModelPtr model);
  void Cancel(const federation::UpdateId& update);
  // What the participant says may make an offer needless.
  void Answered(const federation::Event& event);
  // Null if it is not offered.
  ModelPtr Find(uint64_t fingerprint) const;
  void Served(uint64_t fingerprint, Clock::time_point now);
  void Expire(Clock::time_point now);
  void Clear() { offers_.clear(); }
  size_t size() const { return offers_.size(); }

 private:
  struct Offer {
    ModelPtr model;
    bool community = false;
    std::optional<federation::UpdateId> update;  // to evaluate
    std::optional<Version> version;              // to test
    std::optional<Clock::time_point> served;
  };
  std::list<Offer> offers_;  // oldest first
};

}  // namespace metis::rpc
