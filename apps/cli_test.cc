#include "apps/cli.h"

#include <gtest/gtest.h>

namespace metis::apps {
namespace {

TEST(Cli, BytesAreSaidInWords) {
  EXPECT_EQ(FormatBytes(0), "0 bytes");
  EXPECT_EQ(FormatBytes(999), "999 bytes");
  EXPECT_EQ(FormatBytes(1'520), "1.5 kB");
  EXPECT_EQ(FormatBytes(861'480), "861 kB");
  EXPECT_EQ(FormatBytes(4'273'192), "4.3 MB");
  EXPECT_EQ(FormatBytes(16'400'000'000), "16.4 GB");
}

}  // namespace
}  // namespace metis::apps
