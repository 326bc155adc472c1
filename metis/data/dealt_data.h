// A data set dealt to learners, as `metis partition` shows it: who got what, what each keeps for
// validation, whose labels are wrong. A value that borrows the data set; dealing is a pure
// function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"
#include "metis/data/faulty_labels.h"
#include "metis/data/partition.h"

namespace metis::data {

// What is asked for.
struct DealSettings {
  PartitionSettings partition;
  uint32_t learners = 0;
  uint64_t seed = 0;
  std::optional<double> validation;  // the part that each learner keeps for validation, (0, 1)
  std::vector<FaultyLabels> faulty;
};

struct DealtLearner {
  uint64_t training = 0;  // examples; without validation all
  uint64_t validation = 0;
  uint64_t writers = 0;               // 0: unknown
  std::optional<std::string> faulty;  // "labels=random"
  uint64_t labels_changed = 0;
};

struct DealtData {
  const Dataset& set;  // borrowed
  DealSettings settings;
  Partition partition;
  std::vector<DealtLearner> learners;  // as partition.shares

  uint64_t dealt() const { return set.size() - partition.left_over; }
  // Examples of each class that no learner got.
  std::vector<uint64_t> left_over() const;
};

Result<DealtData> DealData(const Dataset& set, const DealSettings& settings);

}  // namespace metis::data
