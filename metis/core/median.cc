#include "metis/core/median.h"

#include <algorithm>
#include <cstddef>

#include "metis/core/check.h"

namespace metis {

double Median(std::vector<double> values) {
  METIS_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace metis
