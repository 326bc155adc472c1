// Links between the controller and each participant: latency, bandwidth, and what faults do to
// messages (loss, duplication, delay and so reordering, partitions). Owned by one Simulator.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "metis/core/ids.h"
#include "metis/sim/event_queue.h"
#include "metis/sim/faults.h"

namespace metis::sim {

struct Link {
  Duration latency;
  double bandwidth_mbit_s = 0;  // 0: unlimited
};

class Network {
 public:
  Network(EventQueue& queue, FaultInjector& faults) : queue_(queue), faults_(faults) {}

  void SetLink(LearnerId learner, Link link) { links_[learner] = link; }

  // Faults spare this participant.
  void Spare(LearnerId learner) { spared_.insert(learner); }

  // Runs `deliver` at the other end when a message of that many bytes has crossed the learner's
  // link, as often as faults let it arrive. `owner` orders ties.
  void Send(LearnerId learner, uint64_t bytes, Owner owner, EventQueue::Task deliver);

  // Cuts the learner off until then.
  void Partition(LearnerId learner, Instant until);

  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  EventQueue& queue_;
  FaultInjector& faults_;
  std::map<LearnerId, Link> links_;
  std::map<LearnerId, Instant> cut_until_;
  std::set<LearnerId> spared_;
  uint64_t bytes_sent_ = 0;
};

}  // namespace metis::sim
