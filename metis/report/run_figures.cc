#include "metis/report/run_figures.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "metis/core/best_score.h"
#include "metis/core/confusion.h"
#include "metis/core/enum_name.h"
#include "metis/core/median.h"
#include "metis/core/text.h"
#include "metis/report/light_reader.h"
#include "metis/report/run_directory.h"
#include "metis/report/summary.h"
#include "metis/report/training_figures.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPartitionFile = "partition.json";
constexpr const char* kSeed = "federation.seed";
constexpr const char* kPolicy = "federation.policy";

std::vector<std::optional<double>> Recalls(const ConfusionCounts& counts) {
  std::vector<std::optional<double>> recalls;
  for (const ClassScores& scores : ScoresByClass(counts)) {
    recalls.push_back(scores.examples > 0 ? std::optional(scores.recall) : std::nullopt);
  }
  return recalls;
}

// Gathers figures from the lines of a record. What a summary counts, it lets a SummaryBuilder
// count.
class FiguresBuilder final : public drivers::Recorder {
 public:
  void Event(Instant now, const federation::Event& event) override {
    summary_.Event(now, event);
    if (const auto* joined = std::get_if<federation::LearnerJoined>(&event)) {
      if (joined->role == federation::Role::kLearner) joined_.insert(joined->learner);
    } else if (const auto* update = std::get_if<federation::UpdateReceived>(&event)) {
      if (!update->cycle.losses.empty()) arrivals_.try_emplace(KeyOf(update->id), now);
    } else if (const auto* tested = std::get_if<federation::CommunityTested>(&event)) {
      const bool counts = summary_.tests().size() > class_accuracy_.size();
      if (counts) class_accuracy_.push_back(Recalls(tested->counts.AsConfusion()));
    }
  }

  void Action(Instant now, const federation::Action& action) override {
    summary_.Action(now, action);
    class_accuracy_.resize(summary_.tests().size());
    if (const auto* commit = std::get_if<federation::CommunityCommitted>(&action)) {
      for (const federation::CommittedUpdate& update : commit->updates) Committed(now, update);
    } else if (const auto* rejected = std::get_if<federation::RejectUpdate>(&action)) {
      arrivals_.erase(KeyOf(rejected->id));
    } else if (const auto* finished = std::get_if<federation::Finished>(&action)) {
      stopped_by_ = NameOf(finished->reason);
    }
  }

  // All that the record alone says.
  void MoveTo(RunFigures& run) && {
    for (size_t i = 0; i < summary_.tests().size(); ++i) {
      const TestPoint& test = summary_.tests()[i];
      run.tests.push_back({test.time.seconds(), test.requests, test.accuracy, test.loss,
                           std::move(class_accuracy_[i])});
    }
    for (LearnerId id : joined_) {
      const LearnerSummary& learner = summary_.learners().at(id);
      run.learners.push_back({.learner = id.value(),
                              .name = learner.name,
                              .group = learner.group,
                              .training_examples = learner.training_examples,
                              .validation_examples = learner.validation_examples,
                              .updates = learner.updates,
                              .epochs = learner.epochs,
                              .staleness = learner.staleness});
    }
    for (const auto& [id, learner] : summary_.learners()) run.rejected += learner.rejected;
    run.requests = updates_.size();
    run.updates = std::move(updates_);
    run.stopped_by = stopped_by_;
    for (auto& [group, cycles] : cycles_) run.cycles.push_back(std::move(cycles));
    std::sort(run.cycles.begin(), run.cycles.end(),
              [](const LearnerCycles& a, const LearnerCycles& b) { return a.learner < b.learner; });
  }

 private:
  using Key = std::tuple<LearnerId, Incarnation, Sequence>;
  static Key KeyOf(const federation::UpdateId& id) {
    return {id.learner, id.incarnation, id.sequence};
  }

  void Committed(Instant now, const federation::CommittedUpdate& update) {
    const federation::CycleRecord& cycle = update.cycle;
    const LearnerId learner = update.id.learner;
    updates_.push_back({now.seconds(), learner.value(), update.contribution, update.staleness,
                        cycle.epochs, std::string(NameOf(cycle.reason))});
    auto arrival = arrivals_.find(KeyOf(update.id));
    const Instant end = arrival == arrivals_.end() ? now : arrival->second;
    if (arrival != arrivals_.end()) arrivals_.erase(arrival);
    if (cycle.losses.empty()) return;
    Show(learner, {end.seconds(), cycle.losses, cycle.failures, std::string(NameOf(cycle.reason)),
                   cycle.staleness});
  }

  // Of each group the lowest number is shown; when it comes later than others, it takes their
  // place.
  void Show(LearnerId learner, CycleFigures cycle) {
    const std::string& group = summary_.learners().at(learner).group;
    auto [shown, fresh] = cycles_.try_emplace(group, LearnerCycles{learner.value(), group, {}});
    if (learner.value() > shown->second.learner) return;
    if (learner.value() < shown->second.learner) shown->second = {learner.value(), group, {}};
    std::vector<CycleFigures>& cycles = shown->second.cycles;
    if (cycles.size() < kShownCycles) cycles.push_back(std::move(cycle));
  }

  SummaryBuilder summary_;
  std::set<LearnerId> joined_;                                      // learners, not observers
  std::vector<std::vector<std::optional<double>>> class_accuracy_;  // one a test
  std::map<Key, Instant> arrivals_;                                 // of updates in doubt
  std::vector<UpdateFigures> updates_;
  std::map<std::string, LearnerCycles> cycles_;  // by group
  std::optional<std::string> stopped_by_;
};

// The counts of the controller, which saw what the record does not hold. Throws what nlohmann's
// at() and get() throw.
void TakeSummary(const Json& summary, RunFigures& run) {
  run.complete = summary.at("complete").get<bool>();
  const Json& stopped_by = summary.at("stopped_by");
  run.stopped_by.reset();
  if (!stopped_by.is_null()) run.stopped_by = stopped_by.get<std::string>();
  run.length_s = summary.at("length_s").get<double>();
  run.requests = summary.at("update_requests").get<uint64_t>();
  run.rejected = summary.at("updates_rejected").get<uint64_t>();
  run.models_exchanged = summary.at("models_exchanged").get<uint64_t>();
  run.models_for_evaluation = summary.at("models_for_evaluation").get<uint64_t>();
  run.bytes_sent = summary.at("bytes_sent").get<uint64_t>();
  if (summary.value("faults", false)) run.settings["faults"] = "injected";
}

// Throws likewise.
void TakePartition(const Json& partition, RunFigures& run) {
  for (const Json& dealt : partition.at("learners")) {
    const auto number = dealt.at("learner").get<uint32_t>();
    auto learner =
        std::find_if(run.learners.begin(), run.learners.end(),
                     [number](const LearnerFigures& each) { return each.learner == number; });
    if (learner == run.learners.end()) continue;  // it never joined
    learner->class_counts = dealt.at("class_counts").get<std::vector<uint64_t>>();
    const Json& faulty = dealt.at("faulty");
    if (!faulty.is_null()) learner->faulty = faulty.get<std::string>();
  }
}

// Reads a JSON file of the directory, if there is one, and lets `take` have it.
template <typename Take>
Result<bool> ReadIfThere(const fs::path& path, const Take& take) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  Result<Json> json = ReadRunJson(path);
  if (!json) return json.error();
  try {
    take(*json);
  } catch (const Json::exception& wrong) {
    return Invalid(Text(path.string(), " is not what a run writes: ", wrong.what()));
  }
  return true;
}

Result<RunFigures> ReadFederation(const std::string& directory, FlatSettings settings) {
  const fs::path root(directory);
  RunFigures run;
  run.directory = directory;
  run.policy = settings[kPolicy];
  Result<uint64_t> seed = TakeSeed(settings, kSeed, (root / kConfigFile).string());
  if (!seed) return seed.error();
  run.seed = *seed;
  run.settings = std::move(settings);
  FiguresBuilder builder;
  Result<LightRead> read = ReadLightly(root / kEventsFile, builder);
  if (!read) return read.error();
  std::move(builder).MoveTo(run);
  Result<bool> summary =
      ReadIfThere(root / kSummaryFile, [&](const Json& json) { TakeSummary(json, run); });
  if (!summary) return summary.error();
  if (!*summary) {
    run.length_s = read->last.seconds();
    run.models_for_evaluation = read->skipped["counts"] + read->skipped["evaluation-failed"];
    run.models_exchanged = 2 * run.requests + run.models_for_evaluation;
  }
  Result<bool> partition =
      ReadIfThere(root / kPartitionFile, [&](const Json& json) { TakePartition(json, run); });
  if (!partition) return partition.error();
  return run;
}

}  // namespace

RunKind KindOf(const std::string& directory) {
  std::error_code error;
  if (fs::is_regular_file(fs::path(directory) / kEventsFile, error)) return RunKind::kFederation;
  if (fs::is_regular_file(fs::path(directory) / kEpochsFile, error)) return RunKind::kTraining;
  return RunKind::kNone;
}

Result<RunFigures> ReadRunFigures(const std::string& directory, const ReadSettings& read_settings) {
  const fs::path config = fs::path(directory) / kConfigFile;
  Result<std::string> text = ReadRunFile(config);
  if (!text) return text.error();
  Result<FlatSettings> settings = read_settings(*text, config.string());
  if (!settings) return settings.error();
  if (KindOf(directory) == RunKind::kTraining) {
    return ReadTrainingFigures(directory, *std::move(settings));
  }
  return ReadFederation(directory, *std::move(settings));
}

std::optional<double> RunFigures::final_accuracy() const {
  return tests.empty() ? std::nullopt : std::optional(tests.back().accuracy);
}

std::optional<double> RunFigures::best_accuracy() const {
  BestScore best;
  for (const TestFigures& test : tests) best.Offer(test.accuracy);
  return best.score();
}

const TestFigures* RunFigures::Reaching(double accuracy) const {
  auto test = std::find_if(tests.begin(), tests.end(),
                           [&](const TestFigures& each) { return each.accuracy >= accuracy; });
  return test == tests.end() ? nullptr : &*test;
}

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread{values.size(), {}, {}, {}};
  if (values.empty()) return spread;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) sum += value;
  spread.mean = sum / count;
  spread.median = Median(values);
  if (values.size() < 2) return spread;
  double squares = 0;
  for (double value : values) squares += (value - *spread.mean) * (value - *spread.mean);
  spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

}  // namespace metis::report
