// What a simulated run will need of time, memory and disk, estimated before it starts. Pure
// functions, but for what the machine says of itself.
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

// Bytes that may still be written to the file system of a directory that need not exist yet; empty
// if that cannot be told.
std::optional<uint64_t> FreeSpace(const std::string& directory);

// The least that the built-in data and the learners' models of them take in memory.
uint64_t BuiltinBytes(const builtin::BuiltinData& data, uint32_t learners);

// Bytes that this process may still take without swapping, empty if that cannot be told. Never too
// few: what a control group has used is not counted, as most of it may be a cache of files.
std::optional<uint64_t> FreeMemory();

// The virtual time at which a run with a duration has long ended: that counts from the beginning of
// training, which waits for every learner's join.
Instant Horizon(const config::Config& config);

}  // namespace metis::simulation
