// Which data a federation learns from, and which of its learners have wrong labels. Settings only:
// where data sets are kept is said to those who read them (load_data.h). Values and pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/faulty_labels.h"

namespace metis::data {

// The name that stands for data made up by a simulation.
inline constexpr std::string_view kBuiltinData = "builtin";

struct SourceSettings {
  std::string dataset = std::string(kBuiltinData);  // or a known name, or a path
  std::optional<uint64_t> examples;                 // to train on, of each class its share; or all
  std::optional<uint64_t> test_examples;            // to test on, likewise
  double test_fraction = 0.2;                       // of a set that has no test part, (0, 1)
  std::vector<FaultyLabels> faulty;

  friend bool operator==(const SourceSettings&, const SourceSettings&) = default;
};

// Reads "none" or "0:labels=random, 3:labels=noise:0.3".
Result<void> ParseFaultyList(std::string_view text, std::vector<FaultyLabels>& faulty);
std::string FormatFaultyList(const std::vector<FaultyLabels>& faulty);

}  // namespace metis::data
