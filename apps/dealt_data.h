// A data set dealt to learners, and how it is shown: as words and a table for the terminal, as
// JSON, as a table that `table:FILE` reads back, and as a drawing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"
#include "metis/data/faulty_labels.h"
#include "metis/data/partition.h"

namespace metis::apps {

// What is asked for.
struct DealSettings {
  data::PartitionSettings partition;
  uint32_t learners = 0;
  uint64_t seed = 0;
  std::optional<double> validation;  // the part that each learner keeps for validation, (0, 1)
  std::vector<data::FaultyLabels> faulty;
};

struct DealtLearner {
  uint64_t training = 0;  // examples; without validation all
  uint64_t validation = 0;
  uint64_t writers = 0;               // 0: unknown
  std::optional<std::string> faulty;  // "labels=random"
  uint64_t labels_changed = 0;
};

struct DealtData {
  const data::Dataset& set;  // borrowed
  DealSettings settings;
  data::Partition partition;
  std::vector<DealtLearner> learners;  // as partition.shares

  uint64_t dealt() const { return set.size() - partition.left_over; }
};

Result<DealtData> DealData(const data::Dataset& set, const DealSettings& settings);

// Of many classes a summary for each learner; all counts, a few classes at a time, if `full`.
void PrintDealt(const DealtData& dealt, bool full, std::ostream& out, bool styled);
std::string DealtAsJson(const DealtData& dealt);
std::string DealtAsCsv(const DealtData& dealt);
// Learners as bars, largest first, with a colour for each class.
std::string DealtAsSvg(const DealtData& dealt);

// "3 examples", "1 example".
std::string Count(uint64_t number, std::string_view noun);

}  // namespace metis::apps
