// Which machine each learner has: groups are dealt in turn to learners sorted by size, so that
// large and small training sets meet fast and slow machines alike. Equal sizes need no dealing.
#pragma once

#include <cstdint>
#include <vector>

#include "metis/sim/settings.h"

namespace metis::sim {

// The group (index into `groups`) of each learner, largest training set first. Checked: the groups'
// learners add up to `learners`.
std::vector<size_t> DealGroups(const std::vector<DeviceGroup>& groups, uint32_t learners,
                               bool equal_sizes);

}  // namespace metis::sim
