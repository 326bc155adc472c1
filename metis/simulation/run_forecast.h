// What a simulated run will need, estimated before it starts: how many updates, how much memory
// for built-in data, how much virtual time. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metis/config/config.h"
#include "metis/learner/workload.h"

namespace metis::simulation {

// About how many updates the learners will send. Adaptive learners are taken to ask after
// trigger.local_epochs, as the others do. Empty where no stop criterion allows an estimate.
std::optional<uint64_t> ForecastUpdates(const config::Config& config,
                                        const learner::Workload& workload);

// The least that the built-in data and the learners' models of them take in memory.
uint64_t BuiltinBytes(const builtin::BuiltinData& data, uint32_t learners);

// The virtual time at which a run with a duration has long ended: that counts from the beginning of
// training, which waits for every learner's join.
Instant Horizon(const config::Config& config);

}  // namespace metis::simulation
