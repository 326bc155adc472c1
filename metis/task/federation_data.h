// The data of a federation: what is dealt to learners, what tests the community model, and what
// one learner holds of it. Simulated and real learners get the same shares by the same rules.
// Values, which share one data set in memory; pure functions, but for the files that they read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/data/load_data.h"
#include "metis/train/examples.h"

namespace metis::task {

struct FederationData {
  std::shared_ptr<const data::Dataset> train;
  std::vector<uint32_t> dealt;  // the examples of `train` that are dealt to learners
  train::Examples test;
};

// What one learner holds.
struct Share {
  train::Examples training;
  train::Examples validation;          // empty where the policy needs none
  std::vector<uint64_t> class_counts;  // true ones, whatever its labels say
};

// The set of `source`, with the test part, the number of examples and of test examples that the
// configuration asks for.
Result<FederationData> LoadFederationData(const config::Config& config,
                                          const data::DataSource& source);

// One share for each of `learners`, in the order of the partition; those that the configuration
// calls faulty with wrong labels.
Result<std::vector<Share>> DealShares(const FederationData& data, const config::Config& config,
                                      uint32_t learners);

// All that is dealt, as the share of a single learner, which is spoiled if `faulty` is not null.
// Its draws are those of learner `id`.
Share UndividedShare(const FederationData& data, const config::Config& config, uint64_t id,
                     const data::FaultyLabels* faulty);

// The test examples in parts that can be tested side by side: the same parts whatever the number of
// threads.
std::vector<train::Examples> TestParts(const train::Examples& test);

}  // namespace metis::task
