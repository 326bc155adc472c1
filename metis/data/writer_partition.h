// Dealing whole writers to learners: all examples of a writer go to one learner, so that learners
// differ as people do. For MakePartition() (partition.h), which checks what is asked. A pure
// function: any thread may call it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metis/core/random.h"
#include "metis/core/result.h"
#include "metis/data/partition.h"

namespace metis::data {

// `writers[i]` wrote example i; `wanted` are the sizes that learners are to get, largest first,
// which add up to the examples. Writers go, in a drawn order, to the learner that lacks most, and
// at least one to each; then, as long as it helps, a learner with more than it wants gives another
// a writer, or swaps one with it. Every example is dealt; some learners get more than they want,
// others less, usually by a few examples if each has several writers. Fails if there are fewer
// writers than learners. O(examples * log(writers)), and a few sweeps of O(writers^2).
Result<Partition> PartitionByWriters(std::span<const uint32_t> labels, uint32_t classes,
                                     std::span<const uint32_t> writers,
                                     const std::vector<uint64_t>& wanted, Random random);

}  // namespace metis::data
