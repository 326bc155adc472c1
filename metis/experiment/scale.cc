#include "metis/experiment/scale.h"

#include <algorithm>
#include <cmath>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/data/catalogue.h"
#include "metis/federation/part.h"

namespace metis::experiment {
namespace {

uint64_t ScaledCount(uint64_t count, double factor, uint64_t least) {
  auto scaled = static_cast<uint64_t>(std::llround(static_cast<double>(count) * factor));
  return std::clamp(scaled, std::min(least, count), count);
}

Duration ScaledDuration(Duration duration, double factor, Duration least) {
  Duration scaled = Duration::FromSeconds(duration.seconds() * factor);
  return std::clamp(scaled, std::min(least, duration), duration);
}

Duration ShortestBatch(const config::Config& config) {
  Duration shortest = Duration::Forever();
  for (const sim::DeviceGroup& group : config.simulation.groups) {
    shortest = std::min(shortest, group.batch_time);
  }
  return shortest;
}

bool IsBuiltin(const config::Config& config) { return config.source.dataset == data::kBuiltinData; }

std::string Seconds(Duration duration) {
  const double seconds = duration.seconds();
  if (seconds >= 10 || seconds == std::floor(seconds)) {
    return Text(Grouped(static_cast<uint64_t>(std::llround(seconds))), " s");
  }
  return Text(Fixed(seconds, 2), " s");
}

// That a learner of the first group with an even share of the examples has time for.
std::optional<uint64_t> LocalEpochs(const config::Config& config) {
  const Amounts amounts = AmountsOf(config);
  if (!amounts.duration || !amounts.training_examples) return std::nullopt;
  const uint64_t learners = config.federation.membership.learners;
  const uint64_t share = std::max<uint64_t>(1, *amounts.training_examples / learners);
  const uint64_t batch = config.training.batch_size;
  const auto batches = static_cast<int64_t>((share + batch - 1) / batch);
  const Duration epoch = batches * config.simulation.groups[0].batch_time;
  return static_cast<uint64_t>(amounts.duration->nanoseconds() / epoch.nanoseconds());
}

// "5 of 50 rounds", if they differ.
void AddDifference(const std::optional<uint64_t>& full, const std::optional<uint64_t>& scaled,
                   std::string_view unit, std::vector<std::string>& out) {
  if (!full || !scaled || *full == *scaled) return;
  out.push_back(Text(Grouped(*scaled), " of ", Grouped(*full), " ", unit));
}

}  // namespace

std::string NameOf(const Scale& scale) {
  if (scale.full()) return "full";
  std::string data = scale.data == 1 ? "" : Text("scale-", scale.data);
  std::string time = scale.time == 1 ? "" : Text("time-", scale.time);
  return Text(data, data.empty() || time.empty() ? "" : "-", time);
}

Amounts AmountsOf(const config::Config& config) {
  const federation::StopSettings& stop = config.federation.stop;
  Amounts amounts{.training_examples = config.source.examples,
                  .test_examples = config.source.test_examples,
                  .duration = stop.duration,
                  .rounds = stop.rounds,
                  .requests = stop.requests};
  if (IsBuiltin(config)) {
    amounts.training_examples = config.simulation.builtin.training_examples;
    amounts.test_examples = config.simulation.builtin.test_examples;
  } else if (const data::KnownSet* known = data::FindKnown(config.source.dataset)) {
    if (!amounts.training_examples) amounts.training_examples = known->train_examples;
    if (!amounts.test_examples) amounts.test_examples = known->test_examples;
  }
  return amounts;
}

Result<std::vector<config::Assignment>> ScaledKeys(const config::Config& full, const Scale& scale) {
  std::vector<config::Assignment> keys;
  auto set = [&](std::string key, const auto& value) {
    keys.push_back({std::move(key), Text(value), Text("--scale ", scale.data)});
  };
  const Amounts amounts = AmountsOf(full);
  if (scale.data != 1) {
    if (!amounts.training_examples || !amounts.test_examples) {
      return Invalid(Text("the number of examples of ", full.source.dataset,
                          " is not known without reading them: set data.examples and "
                          "data.test_examples in the cell, or leave --scale out"));
    }
    const std::string section = IsBuiltin(full) ? "builtin." : "data.";
    set(section + (IsBuiltin(full) ? "training_examples" : "examples"),
        ScaledCount(*amounts.training_examples, scale.data, full.training.batch_size));
    set(section + "test_examples",
        ScaledCount(*amounts.test_examples, scale.data, full.training.batch_size));
  }
  const double factor = scale.data * scale.time;
  if (amounts.duration && factor != 1) {
    set("stop.duration", ScaledDuration(*amounts.duration, factor, ShortestBatch(full)));
  }
  const federation::TestSettings& test = full.federation.test;
  if (test.every && factor != 1) {
    set("test.every", ScaledDuration(*test.every, factor, Duration::Nanoseconds(1)));
  }
  if (scale.time == 1) return keys;
  if (amounts.rounds) set("stop.rounds", ScaledCount(*amounts.rounds, scale.time, 1));
  if (amounts.requests) set("stop.requests", ScaledCount(*amounts.requests, scale.time, 1));
  if (test.every_commits)
    set("test.every_commits", ScaledCount(*test.every_commits, scale.time, 1));
  return keys;
}

std::string Differences(const config::Config& full, const config::Config& scaled) {
  const Amounts before = AmountsOf(full);
  const Amounts after = AmountsOf(scaled);
  std::vector<std::string> differences;
  AddDifference(before.training_examples, after.training_examples, "training examples",
                differences);
  AddDifference(before.test_examples, after.test_examples, "test examples", differences);
  if (before.duration && after.duration && *before.duration != *after.duration) {
    differences.push_back(Text(Seconds(*after.duration), " of ", Seconds(*before.duration)));
  }
  AddDifference(before.rounds, after.rounds, "rounds", differences);
  AddDifference(before.requests, after.requests, "update requests", differences);
  std::optional<uint64_t> epochs = LocalEpochs(full);
  std::optional<uint64_t> fewer = LocalEpochs(scaled);
  std::string text = Join(differences);
  if (epochs && fewer && *epochs != *fewer) {
    text += Text("; a ", full.simulation.groups[0].name,
                 " learner with an even share of the examples has time for ", Grouped(*fewer),
                 " of ", Grouped(*epochs), " local epochs");
  }
  return text;
}

Measure Scaled(const Measure& measure, const Scale& scale) {
  Measure scaled = measure;
  if (scaled.time) {
    scaled.time = ScaledDuration(*scaled.time, scale.data * scale.time, Duration::Nanoseconds(1));
  }
  if (scaled.rounds) scaled.rounds = ScaledCount(*scaled.rounds, scale.time, 1);
  return scaled;
}

std::optional<double> MostImages(const config::Config& config) {
  const Amounts amounts = AmountsOf(config);
  std::optional<double> most;
  auto bound = [&](double images) { most = most ? std::min(*most, images) : images; };
  if (amounts.duration) {
    double batches = 0;
    for (const sim::DeviceGroup& group : config.simulation.groups) {
      batches += group.learners * amounts.duration->seconds() / group.batch_time.seconds();
    }
    bound(batches * config.training.batch_size);
  }
  const auto epochs = config.federation.policy.trigger->fixed_epochs(config.federation);
  if (amounts.rounds && amounts.training_examples && epochs) {
    bound(static_cast<double>(*amounts.training_examples) * *epochs *
          static_cast<double>(*amounts.rounds));
  }
  return most;
}

}  // namespace metis::experiment
