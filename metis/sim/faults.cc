#include "metis/sim/faults.h"

#include <algorithm>

namespace metis::sim {

FaultRates DrawFaultRates(uint64_t seed) {
  Random random({.seed = seed, .purpose = Purpose::kFaultRates});
  auto rate = [&](double most) { return random.Chance(0.4) ? random.Uniform(0, most) : 0.0; };
  auto mean = [&](double low_min, double high_min) {
    if (!random.Chance(0.35)) return Duration();
    return Duration::FromSeconds(60 * random.Uniform(low_min, high_min));
  };
  FaultRates rates;
  rates.loss = rate(0.2);
  rates.duplication = rate(0.3);
  rates.delay = rate(0.4);
  rates.max_delay = Duration::FromSeconds(random.Uniform(1, 90));
  rates.learner_crash = mean(5, 40);
  rates.learner_pause = mean(5, 40);
  rates.learner_leave = mean(10, 60);
  rates.partition = mean(5, 30);
  rates.controller_crash = mean(2, 20);
  rates.controller_pause = mean(5, 40);
  rates.operator_command = mean(4, 20);
  rates.max_outage = Duration::FromSeconds(60 * random.Uniform(0.5, 6));
  rates.silent_evaluator = rate(0.5);
  rates.forged_counts = rate(0.3);
  rates.nan_update = rate(0.2);
  rates.huge_update = rate(0.2);
  rates.stale_update = rate(0.5);
  rates.permanent_loss = random.Chance(0.3);
  rates.unreadable_model = rate(0.05);
  rates.log_refusal = rate(0.1);
  rates.clock_leap = mean(5, 40);
  if (random.Chance(0.3)) rates.late_start = Duration::FromSeconds(random.Uniform(30, 900));
  return rates;
}

Random FaultInjector::Next(uint64_t learner) {
  return Random(
      {.seed = seed_, .learner = learner, .cycle = draws_++, .purpose = Purpose::kFaults});
}

bool FaultInjector::Strikes(Fault fault, double probability, uint64_t learner, Instant now) {
  if (probability <= 0 || !Active(now)) return false;
  bool strikes = Next(learner).Chance(probability);
  if (strikes) Count(fault);
  return strikes;
}

Duration FaultInjector::Gap(Duration mean, uint64_t learner) {
  return Duration::FromSeconds(std::max(1.0, Next(learner).Exponential(mean.seconds())));
}

Duration FaultInjector::Outage(uint64_t learner) {
  return Duration::FromSeconds(Next(learner).Uniform(0.5, rates_.max_outage.seconds()));
}

}  // namespace metis::sim
