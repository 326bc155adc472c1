#include "metis/sim/devices.h"

#include <numeric>

#include "metis/core/check.h"

namespace metis::sim {

std::vector<size_t> DealGroups(const std::vector<DeviceGroup>& groups, uint32_t learners,
                               bool equal_sizes) {
  std::vector<uint32_t> left;
  for (const DeviceGroup& group : groups) left.push_back(group.learners);
  METIS_CHECK(std::accumulate(left.begin(), left.end(), 0u) == learners);
  std::vector<size_t> dealt;
  size_t at = 0;
  while (dealt.size() < learners) {
    if (left[at] > 0) {
      --left[at];
      dealt.push_back(at);
      if (equal_sizes) continue;
    }
    at = (at + 1) % groups.size();
  }
  return dealt;
}

}  // namespace metis::sim
