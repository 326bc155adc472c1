#include "metis/machine/cpu_time.h"

#include <ctime>

#include "metis/core/check.h"

namespace metis::machine {

double ThreadCpuSeconds() {
  timespec time{};
  METIS_CHECK(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace metis::machine
