#include "metis/machine/cpu_time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace metis::machine {
namespace {

TEST(ThreadCpuSeconds, GrowWithWork) {
  const double begin = ThreadCpuSeconds();
  volatile uint64_t work = 0;
  while (ThreadCpuSeconds() == begin) work = work + 1;
  EXPECT_GT(ThreadCpuSeconds(), begin);
}

}  // namespace
}  // namespace metis::machine
