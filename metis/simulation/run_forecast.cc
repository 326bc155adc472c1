#include "metis/simulation/run_forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metis/federation/part.h"
#include "metis/sim/devices.h"

namespace metis::simulation {
namespace {

constexpr uint32_t kUsualEpochs = 4;  // of a cycle whose trigger does not say

// Seconds from one update of a learner to its next, without waiting for anyone.
double CycleSeconds(const config::Config& config, const learner::Workload& workload,
                    LearnerId learner, const sim::DeviceGroup& group) {
  const std::vector<uint64_t> counts = workload.class_counts(learner);
  double examples = static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  if (federation::NeedsValidationSet(config.federation.policy)) {
    examples *= 1 - config.training.validation_fraction;
  }
  const double steps = std::max(1.0, std::ceil(examples / config.training.batch_size));
  const auto fixed = config.federation.policy.trigger->fixed_epochs(config.federation);
  return fixed.value_or(kUsualEpochs) * steps * group.batch_time.seconds();
}

}  // namespace

std::optional<uint64_t> ForecastUpdates(const config::Config& config,
                                        const learner::Workload& workload) {
  const federation::StopSettings& stop = config.federation.stop;
  const bool synchronous = config.federation.policy.protocol->rounds;
  const uint32_t learners = workload.learners();
  std::optional<double> updates;
  const auto at_most = [&](double bound) { updates = std::min(updates.value_or(bound), bound); };
  if (stop.requests) at_most(static_cast<double>(*stop.requests));
  if (stop.rounds && synchronous) at_most(static_cast<double>(*stop.rounds) * learners);
  if (stop.duration) {
    const std::vector<size_t> groups =
        sim::DealGroups(config.simulation.groups, learners, data::AsksEqualSizes(config.data));
    double slowest = 0;
    double rate = 0;  // updates a second, of all that wait for nobody
    for (uint32_t k = 0; k < learners; ++k) {
      const double cycle =
          CycleSeconds(config, workload, LearnerId(k), config.simulation.groups[groups[k]]);
      slowest = std::max(slowest, cycle);
      rate += 1 / cycle;
    }
    at_most(stop.duration->seconds() * (synchronous ? learners / slowest : rate));
  }
  if (!updates) return std::nullopt;
  return static_cast<uint64_t>(std::llround(*updates));
}

uint64_t BuiltinBytes(const builtin::BuiltinData& data, uint32_t learners) {
  const uint64_t examples = uint64_t{data.training_examples} + data.test_examples;
  const uint64_t parameters = uint64_t{data.classes} * (uint64_t{data.features} + 1);
  const uint64_t example = sizeof(double) * data.features + sizeof(uint32_t);  // with its label
  // In floating point first: the largest settings together are too many for 64 bits.
  const double models = sizeof(float) * static_cast<double>(parameters) * (1.0 + learners);
  constexpr double kMost = 1e18;
  return examples * example + sizeof(double) * parameters +  // the means of the classes
         static_cast<uint64_t>(std::min(models, kMost));
}

Instant Horizon(const config::Config& config) {
  Duration latency;
  for (const sim::DeviceGroup& group : config.simulation.groups) {
    latency = std::max(latency, group.latency);
  }
  // A join crosses a link once; some are lost and sent again.
  constexpr int64_t kCrossings = 4;
  const Duration limit = config.federation.stop.duration.value_or(Duration::Forever());
  // The hour lets the last timer fire; a join's few bytes need no more of it than seconds.
  return Instant() + std::min(limit + kCrossings * latency, Duration::Forever()) +
         Duration::Hours(1);
}

}  // namespace metis::simulation
