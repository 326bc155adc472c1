// Links between the controller and each participant: latency, bandwidth, and whether they are cut.
// Owned by one Simulator.
#pragma once

#include <cstdint>
#include <map>

#include "metis/sim/event_queue.h"

namespace metis::sim {

struct Link {
  Duration latency;
  double bandwidth_mbit_s = 0;  // 0: unlimited
};

class Network {
 public:
  explicit Network(EventQueue& queue) : queue_(queue) {}

  // Participants are numbered; one without a link of its own has one that costs no time.
  void SetLink(uint32_t participant, Link link) { links_[participant] = link; }

  // Runs `deliver` at the other end when a message of that many bytes has crossed the participant's
  // link. `owner` orders ties.
  void Send(uint32_t participant, uint64_t bytes, Owner owner, EventQueue::Task deliver);

  // Cuts the participant off until then.
  void Cut(uint32_t participant, Instant until);
  bool IsCut(uint32_t participant) const;

  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  EventQueue& queue_;
  std::map<uint32_t, Link> links_;
  std::map<uint32_t, Instant> cut_until_;
  uint64_t bytes_sent_ = 0;
};

}  // namespace metis::sim
