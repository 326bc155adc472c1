// Learners whose labels are wrong at their site, as real federations have them: both its training
// and its validation labels are, the test set's never. Examples and sizes stay as they were dealt.
// Pure functions: any thread may call them.
//
//   std::vector<uint32_t> labels(set.labels().begin(), set.labels().end());
//   SpoilLabels(faulty, partition.shares[faulty.learner].examples, set.classes(), seed, labels);
//   Split split = StratifiedSplit(..., labels, ...);   // the site splits by the labels that it
//   sees
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

enum class LabelFault {
  kNoise,     // each label, with probability `rate`, becomes another class, each as likely
  kRandom,    // each label becomes any class, each as likely, the right one included
  kConstant,  // each label becomes class `first`
  kSwap,      // classes `first` and `second` change places
};

struct FaultyLabels {
  uint32_t learner = 0;  // in the order of the partition, from 0
  LabelFault fault = LabelFault::kRandom;
  double rate = 0;      // (0, 1]
  uint32_t first = 0;   // classes
  uint32_t second = 0;  // another than `first`

  friend bool operator==(const FaultyLabels&, const FaultyLabels&) = default;
};

// Reads "1:labels=random", "3:labels=noise:0.3", "2:labels=constant:0", "4:labels=swap:3-5"; the
// number before the colon is the learner's.
Result<FaultyLabels> ParseFaultyLabels(std::string_view text);
// The same in words that ParseFaultyLabels() reads back.
std::string FormatFaultyLabels(const FaultyLabels& faulty);

// Whether there are such learners and classes, and no learner is named twice.
Result<void> CheckFaultyLabels(std::span<const FaultyLabels> faulty, uint32_t learners,
                               uint32_t classes);

// Spoils `labels[i]` for each i of `examples`, all or some of the learner's. What becomes of an
// example depends on (seed, learner, i) alone: neither on the others nor on their order. Returns
// how many labels have changed.
uint64_t SpoilLabels(const FaultyLabels& faulty, std::span<const uint32_t> examples,
                     uint32_t classes, uint64_t seed, std::span<uint32_t> labels);

}  // namespace metis::data
