#include "metis/dashboard/history.h"

#include <gtest/gtest.h>

namespace metis::dashboard {
namespace {

operations::Status At(uint64_t second) {
  operations::Status status;
  status.time_s = static_cast<double>(second);
  status.requests_per_minute = static_cast<double>(2 * second);
  status.memory_bytes = 1000 + second;
  status.connected = static_cast<uint32_t>(second % 7);
  status.pending = second % 3;
  return status;
}

TEST(History, KeepsEverySampleUntilItIsFull) {
  History history;
  for (uint64_t second = 0; second < kMostSamples; ++second) history.Offer(At(second));
  ASSERT_EQ(history.samples().size(), kMostSamples);
  EXPECT_EQ(history.samples()[5], (Sample{5, 10, 1005, 5, 2}));
}

// Whatever the length: bounded, from the first sample on, evenly spaced, and not far from the end.
TEST(History, CoversTheWholeTimeEvenlyHoweverLongItIs) {
  History history;
  for (uint64_t second = 0; second < 50'000; ++second) {
    history.Offer(At(second));
    const std::vector<Sample>& samples = history.samples();
    ASSERT_LE(samples.size(), kMostSamples);
    ASSERT_EQ(samples.front().time_s, 0);
    const double gap = samples.size() > 1 ? samples[1].time_s : 1;
    ASSERT_LT(static_cast<double>(second) - samples.back().time_s, 2 * gap);
    if (second % 997 != 0) continue;
    for (size_t i = 0; i < samples.size(); ++i) {
      ASSERT_EQ(samples[i].time_s, static_cast<double>(i) * gap) << "after " << second;
    }
  }
  EXPECT_GT(history.samples().size(), kMostSamples / 2 - 1);
}

TEST(History, FormatHasAnArrayForEachField) {
  History history;
  EXPECT_EQ(history.Format()["time_s"].size(), 0u);
  for (uint64_t second : {3u, 4u}) history.Offer(At(second));
  const report::Json json = history.Format();
  EXPECT_EQ(json["time_s"], report::Json::parse("[3.0, 4.0]"));
  EXPECT_EQ(json["requests_per_minute"], report::Json::parse("[6.0, 8.0]"));
  EXPECT_EQ(json["memory_bytes"], report::Json::parse("[1003, 1004]"));
  EXPECT_EQ(json["connected"], report::Json::parse("[3, 4]"));
  EXPECT_EQ(json["pending"], report::Json::parse("[0, 1]"));
}

}  // namespace
}  // namespace metis::dashboard
