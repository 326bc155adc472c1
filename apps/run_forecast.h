// What a simulated run will need on the disk, estimated before it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metis/config/config.h"
#include "metis/sim/workload.h"

namespace metis::apps {

// About how many updates the learners will send. Adaptive learners are taken to ask after
// trigger.local_epochs, as the others do. Empty where no stop criterion allows an estimate.
std::optional<uint64_t> ForecastUpdates(const config::Config& config,
                                        const sim::Workload& workload);

// Bytes that may still be written to the file system of a directory that need not exist yet; empty
// if that cannot be told.
std::optional<uint64_t> FreeSpace(const std::string& directory);

}  // namespace metis::apps
