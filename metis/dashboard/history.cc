#include "metis/dashboard/history.h"

namespace metis::dashboard {

void History::Offer(const operations::Status& status) {
  if (offered_++ % every_ != 0) return;
  if (samples_.size() == kMostSamples) {
    // Those that the doubled interval would have taken are the even ones.
    for (size_t i = 0; i < kMostSamples / 2; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kMostSamples / 2);
    every_ *= 2;
  }
  samples_.push_back({status.time_s, status.requests_per_minute, status.memory_bytes,
                      status.connected, status.pending});
}

report::Json History::Format() const {
  report::Json time = report::Json::array(), rate = time, memory = time, connected = time,
               pending = time;
  for (const Sample& sample : samples_) {
    time.push_back(sample.time_s);
    rate.push_back(sample.requests_per_minute);
    memory.push_back(sample.memory_bytes);
    connected.push_back(sample.connected);
    pending.push_back(sample.pending);
  }
  return {{"time_s", time},
          {"requests_per_minute", rate},
          {"memory_bytes", memory},
          {"connected", connected},
          {"pending", pending}};
}

}  // namespace metis::dashboard
