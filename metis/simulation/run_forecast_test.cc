#include "metis/simulation/run_forecast.h"

#include <gtest/gtest.h>

#include "metis/builtin/workload.h"

namespace metis::simulation {
namespace {

// The configuration of an empty file with some keys set, and its workload.
struct Planned {
  config::Config config;
  std::unique_ptr<builtin::BuiltinWorkload> workload;
};

Planned Plan(std::vector<std::string> assignments) {
  std::vector<config::Assignment> overrides;
  for (const std::string& text : assignments) {
    overrides.push_back(config::ParseAssignment(text).value());
  }
  Planned planned{config::ParseConfig("", "test", overrides).value(), nullptr};
  const config::Config& config = planned.config;
  planned.workload =
      builtin::BuiltinWorkload::Create(config.simulation.builtin, config.data, config.training,
                                       config.federation.membership.learners,
                                       federation::NeedsValidationSet(config.federation.policy),
                                       config.simulation.seed)
          .value();
  return planned;
}

std::optional<uint64_t> Forecast(std::vector<std::string> assignments) {
  const Planned planned = Plan(std::move(assignments));
  return ForecastUpdates(planned.config, *planned.workload);
}

// 600 examples each: 6 mini-batches, 24 a cycle; 2.4 s where it is fast, 24 s where it is slow.
TEST(RunForecast, CountsTheCyclesThatFitIntoTheDuration) {
  EXPECT_EQ(Forecast({"federation.policy=async-fedavg", "stop.duration=240s"}), 5u * 100 + 5u * 10);
}

TEST(RunForecast, SynchronousRoundsLastAsLongAsTheSlowest) {
  EXPECT_EQ(Forecast({"federation.policy=sync-fedavg", "stop.duration=240s"}), 10u * 10);
  EXPECT_EQ(Forecast({"federation.policy=sync-fedavg", "stop.duration=240s", "stop.rounds=3"}),
            3u * 10);
}

TEST(RunForecast, RequestsAreABound) {
  EXPECT_EQ(Forecast({"federation.policy=async-fedavg", "stop.duration=240s", "stop.requests=70"}),
            70u);
}

}  // namespace
}  // namespace metis::simulation
