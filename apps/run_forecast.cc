#include "apps/run_forecast.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "metis/sim/devices.h"

namespace metis::apps {
namespace {

// Seconds from one update of a learner to its next, without waiting for anyone.
double CycleSeconds(const config::Config& config, const sim::Workload& workload, LearnerId learner,
                    const sim::DeviceGroup& group) {
  const std::vector<uint64_t> counts = workload.class_counts(learner);
  double examples = static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  if (federation::NeedsValidationSet(config.federation.policy)) {
    examples *= 1 - config.training.validation_fraction;
  }
  const double steps = std::max(1.0, std::ceil(examples / config.training.batch_size));
  return config.federation.trigger.local_epochs * steps * group.batch_time.seconds();
}

}  // namespace

std::optional<uint64_t> ForecastUpdates(const config::Config& config,
                                        const sim::Workload& workload) {
  const federation::StopSettings& stop = config.federation.stop;
  const bool synchronous =
      config.federation.policy.protocol == federation::ProtocolKind::kSynchronous;
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

std::optional<uint64_t> FreeSpace(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(directory, error);
  while (!path.empty() && !std::filesystem::exists(path, error) && path != path.root_path()) {
    path = path.parent_path();
  }
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  if (error) return std::nullopt;
  return space.available;
}

}  // namespace metis::apps
