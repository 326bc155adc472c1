// The figures of one run, made from its directory and from nothing else (docs/run-directory.md): of
// a federation, or of a centralised training (`metis train`), which is a run with tests and without
// learners. Plain values; reading takes one pass over the record and no models.
//
// Of a run that was cut off there is no summary: its counts are those of the whole lines that it
// left, and models for evaluation are the answers that came back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/report/json_archive.h"

namespace metis::report {

// The resolved configuration, flat: "data.sizes" -> "powerlaw:1.5", "group.slow.latency" -> "10ms".
using FlatSettings = std::map<std::string, std::string>;
// Flattens the text of a config.toml; `source_name` stands for the file in messages. This layer
// reads no TOML: a program passes in what does.
using ReadSettings =
    std::function<Result<FlatSettings>(const std::string& text, const std::string& source_name)>;

// The warm-up window of the staleness distribution (paper, section V): a learner's first cycles.
inline constexpr size_t kWarmupCycles = 20;
// As many cycles of one learner as a drawing of them can show.
inline constexpr size_t kShownCycles = 40;

struct TestFigures {
  double t_s = 0;
  uint64_t requests = 0;  // committed by then
  double accuracy = 0;
  double loss = 0;
  std::vector<std::optional<double>> class_accuracy = {};  // recall; nothing without examples
};

struct UpdateFigures {
  double t_s = 0;  // of the commit
  uint32_t learner = 0;
  double contribution = 0;
  uint64_t staleness = 0;  // effective, in steps
  uint64_t epochs = 0;
  std::string reason;
};

struct CycleFigures {
  double end_s = 0;            // when its update reached the controller
  std::vector<double> losses;  // of the received model, then after each epoch
  uint64_t failures = 0;
  std::string reason;
  uint64_t staleness = 0;  // as the learner saw it: what C3 looks at
};

struct LearnerFigures {
  uint32_t learner = 0;
  std::string name;
  std::string group;
  uint64_t training_examples = 0;
  uint64_t validation_examples = 0;
  std::optional<std::vector<uint64_t>> class_counts = {};
  std::optional<std::string> faulty = {};
  uint64_t updates = 0;
  uint64_t epochs = 0;
  std::vector<double> staleness = {};  // effective, of its committed updates
};

// The drawn cycles of one learner.
struct LearnerCycles {
  uint32_t learner = 0;
  std::string group;
  std::vector<CycleFigures> cycles;
};

struct RunFigures {
  std::string directory;
  FlatSettings settings;  // without the seed; "faults" is one where faults were injected
  std::string policy;     // "centralised" of a training
  uint64_t seed = 0;
  bool measured_time = false;  // times are those of the machine, not virtual
  bool complete = false;
  std::optional<std::string> stopped_by = {};
  double length_s = 0;
  uint64_t requests = 0;
  uint64_t rejected = 0;
  uint64_t models_exchanged = 0;
  uint64_t models_for_evaluation = 0;
  std::optional<uint64_t> bytes_sent = {};
  std::vector<TestFigures> tests = {};
  std::vector<LearnerFigures> learners = {};  // by number
  std::vector<UpdateFigures> updates = {};    // in the order of commits
  // Of the first learner of each group that committed one, the first kShownCycles; empty where no
  // losses were recorded.
  std::vector<LearnerCycles> cycles = {};

  std::optional<double> final_accuracy() const;
  std::optional<double> best_accuracy() const;
  // The first test that reaches the accuracy; null where none does.
  const TestFigures* Reaching(double accuracy) const;
};

// What a directory holds, by the file of its record.
enum class RunKind { kNone, kFederation, kTraining };
RunKind KindOf(const std::string& directory);

// Reads the directory of a run of either kind.
Result<RunFigures> ReadRunFigures(const std::string& directory, const ReadSettings& read_settings);

// Of a list of numbers; `deviation` is that of a sample (n - 1).
struct Spread {
  size_t count = 0;
  std::optional<double> median, mean;  // of at least one value
  std::optional<double> deviation;     // of at least two
};
Spread SpreadOf(const std::vector<double>& values);

// How much of a run goes into the data of a page: beyond that, every k-th row is kept and "thinned"
// says k. The last test is always kept.
struct Thinning {
  size_t most_updates = 20'000;
  size_t most_tests = 2'000;
};

// The run as docs/reports.md describes it. `targets` are the accuracies of time_to_accuracy_s.
Json RunJson(const RunFigures& run, std::span<const double> targets, const Thinning& thinning);

}  // namespace metis::report
