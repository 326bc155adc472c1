// An experiment at a smaller scale: fewer examples in proportionally less time, so that learners go
// through about as many local epochs as at full scale; and less time on top of that. What a machine
// needs for a mini-batch and a message stays what it is. Pure functions over values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/experiment/table_spec.h"

namespace metis::experiment {

struct Scale {
  double data = 1;  // of training examples, test examples and duration, (0, 1]
  double time = 1;  // of duration, rounds and requests, on top of that, (0, 1]

  bool full() const { return data == 1 && time == 1; }
  friend bool operator==(const Scale&, const Scale&) = default;
};

// "full", "scale-0.1", "scale-0.1-time-0.2": a directory.
std::string NameOf(const Scale& scale);

// What of a federation is scaled; empty where it does not apply.
struct Amounts {
  std::optional<uint64_t> training_examples;
  std::optional<uint64_t> test_examples;
  std::optional<Duration> duration;
  std::optional<uint64_t> rounds;
  std::optional<uint64_t> requests;
};
Amounts AmountsOf(const config::Config& config);

// The keys that make the cell `full` one of the scale: none at full scale. Counts are rounded to
// the nearest; examples are never fewer than a mini-batch (or than there are), the duration is
// never shorter than one, rounds, requests and tests' intervals never 0. An error for data whose
// size is not known without reading it.
Result<std::vector<config::Assignment>> ScaledKeys(const config::Config& full, const Scale& scale);

// "5,000 of 50,000 training examples, 1,000 of 10,000 test examples, 140 s of 14,000 s; a fast
// learner with an even share of the examples has time for 112 of 1,120 local epochs"; empty if
// nothing differs. Local epochs tell what a scale leaves of the learning: they also say where an
// epoch of few examples is no longer made of whole mini-batches.
std::string Differences(const config::Config& full, const config::Config& scaled);

// The moment of the measure in a run of that scale.
Measure Scaled(const Measure& measure, const Scale& scale);

// No more images than this are trained on in a run (each as often as it is used): learners that
// never wait train all the time; empty where nothing bounds the run beforehand.
std::optional<double> MostImages(const config::Config& config);

}  // namespace metis::experiment
