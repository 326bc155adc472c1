// What a simulated federation learns, by its configuration: the built-in task, or a network on
// real data. Whoever makes one owns it, with all its data in memory; it depends on nothing but the
// configuration and the files that it reads. Built-in data for which the machine has no room are
// refused.
#pragma once

#include <memory>
#include <string>

#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/learner/workload.h"
#include "metis/report/json_archive.h"
#include "metis/store/model_file.h"

namespace metis::simulation {

struct Task {
  std::unique_ptr<learner::Workload> workload;
  store::ModelFacts facts;  // what its models' files say of themselves
  report::Json read;  // fingerprints of what other files than the configuration said; null: none
};

// Fails where the configuration asks of built-in data what only real data have: it would be
// recorded, and not done. (Over the network the configuration may say so: sites have data of their
// own.)
Result<Task> MakeTask(const config::Config& config, const std::string& data_directory);

}  // namespace metis::simulation
