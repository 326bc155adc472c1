// Growing pauses between attempts: doubling from `first` to `longest`, each stretched by a keyed
// jitter, so that a thousand participants do not dial at the same moment. One thread owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "metis/core/fingerprint.h"
#include "metis/core/random.h"
#include "metis/core/time.h"

namespace metis::rpc {

class Backoff {
 public:
  // `who` keys the jitter: the participant's name, and what it tries.
  Backoff(Duration first, Duration longest, std::string_view who)
      : first_(first), longest_(longest), seed_(Fingerprint(who)) {}

  void Reset() { attempt_ = 0; }
  Duration Next() {
    const double grown =
        first_.seconds() * static_cast<double>(uint64_t{1} << std::min(attempt_++, 20u));
    Random jitter({.seed = seed_, .cycle = ++drawn_, .purpose = Purpose::kRetryJitter});
    return Duration::FromSeconds(std::min(grown, longest_.seconds()) * jitter.Uniform(0.75, 1.25));
  }

 private:
  Duration first_;
  Duration longest_;
  uint64_t seed_;
  uint32_t attempt_ = 0;
  uint64_t drawn_ = 0;
};

}  // namespace metis::rpc
