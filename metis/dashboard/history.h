// How a federation's costs went while its controller ran: samples for the dashboard's curves, which
// a Status does not have. At most kMostSamples: when they are full every second one goes, and from
// then on half as many are taken, so that a week costs no more than an hour.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "metis/operations/status.h"

namespace metis::dashboard {

inline constexpr size_t kMostSamples = 600;

struct Sample {
  double time_s = 0;
  double requests_per_minute = 0;
  uint64_t memory_bytes = 0;
  uint64_t connected = 0;
  uint64_t pending = 0;

  friend bool operator==(const Sample&, const Sample&) = default;
};

class History {
 public:
  // To be called at even intervals; takes the first call's status, then every n-th.
  void Offer(const operations::Status& status);

  const std::vector<Sample>& samples() const { return samples_; }
  // Arrays of equal length by the names of the fields.
  report::Json Format() const;

 private:
  std::vector<Sample> samples_;
  uint64_t offered_ = 0;
  uint64_t every_ = 1;
};

}  // namespace metis::dashboard
