// A run as the data of a page.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "metis/report/run_figures.h"

namespace metis::report {
namespace {

// Not a number, or too large: nothing that can be drawn.
Json Drawable(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Six digits are more than a drawing shows; whole columns of sixteen would make pages large.
Json Rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  std::from_chars(text, end, value);
  return value;
}

// Of columns as long: to the microsecond.
double RoundedTime(double seconds) { return std::round(seconds * 1e6) / 1e6; }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Keeps every step-th row so that at most `most` remain.
size_t StepFor(size_t rows, size_t most) {
  return most == 0 ? 1 : std::max<size_t>(1, (rows + most - 1) / most);
}

Json Columns(std::initializer_list<const char*> names) {
  Json columns = Json::object();
  for (const char* name : names) columns[name] = Json::array();
  return columns;
}

Json TestsJson(const std::vector<TestFigures>& tests, size_t most) {
  const size_t step = StepFor(tests.size(), most);
  Json columns = Columns({"t_s", "requests", "accuracy", "loss", "class_accuracy"});
  for (size_t i = 0; i < tests.size(); ++i) {
    if (i % step != 0 && i + 1 != tests.size()) continue;
    const TestFigures& test = tests[i];
    columns["t_s"].push_back(test.t_s);
    columns["requests"].push_back(test.requests);
    columns["accuracy"].push_back(Drawable(test.accuracy));
    columns["loss"].push_back(Rounded(test.loss));
    Json classes = Json::array();
    for (const std::optional<double>& recall : test.class_accuracy) {
      classes.push_back(recall ? Rounded(*recall) : Json(nullptr));
    }
    columns["class_accuracy"].push_back(std::move(classes));
  }
  if (step > 1) columns["thinned"] = step;
  return columns;
}

Json UpdatesJson(const std::vector<UpdateFigures>& updates, size_t most) {
  const size_t step = StepFor(updates.size(), most);
  Json columns = Columns({"t_s", "learner", "contribution", "staleness", "epochs", "reason"});
  for (size_t i = 0; i < updates.size(); i += step) {
    const UpdateFigures& update = updates[i];
    columns["t_s"].push_back(RoundedTime(update.t_s));
    columns["learner"].push_back(update.learner);
    columns["contribution"].push_back(Rounded(update.contribution));
    columns["staleness"].push_back(update.staleness);
    columns["epochs"].push_back(update.epochs);
    columns["reason"].push_back(update.reason);
  }
  if (step > 1) columns["thinned"] = step;
  return columns;
}

Json LearnerJson(const LearnerFigures& learner) {
  return {{"learner", learner.learner},
          {"name", learner.name},
          {"group", learner.group},
          {"training_examples", learner.training_examples},
          {"validation_examples", learner.validation_examples},
          {"class_counts", OrNull(learner.class_counts)},
          {"faulty", OrNull(learner.faulty)},
          {"updates", learner.updates},
          {"epochs", learner.epochs},
          {"median_staleness", OrNull(SpreadOf(learner.staleness).median)}};
}

Json CyclesJson(const LearnerCycles& of) {
  Json cycles = Json::array();
  for (const CycleFigures& cycle : of.cycles) {
    Json losses = Json::array();
    for (double loss : cycle.losses) losses.push_back(Rounded(loss));
    cycles.push_back({{"end_s", cycle.end_s},
                      {"losses", std::move(losses)},
                      {"failures", cycle.failures},
                      {"reason", cycle.reason},
                      {"staleness", cycle.staleness}});
  }
  return {{"learner", of.learner}, {"group", of.group}, {"cycles", std::move(cycles)}};
}

// Of each group, in the order of its first learner: the first cycles of each of its learners.
Json StalenessJson(const std::vector<LearnerFigures>& learners) {
  std::vector<std::pair<std::string, std::vector<double>>> groups;
  for (const LearnerFigures& learner : learners) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& each) { return each.first == learner.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {learner.group, {}});
    const size_t count = std::min(learner.staleness.size(), kWarmupCycles);
    group->second.insert(group->second.end(), learner.staleness.begin(),
                         learner.staleness.begin() + static_cast<std::ptrdiff_t>(count));
  }
  Json json = Json::array();
  for (const auto& [name, values] : groups) {
    const Spread spread = SpreadOf(values);
    json.push_back({{"group", name},
                    {"values", values},
                    {"median", OrNull(spread.median)},
                    {"mean", OrNull(spread.mean)},
                    {"deviation", OrNull(spread.deviation)}});
  }
  return json;
}

}  // namespace

Json RunJson(const RunFigures& run, std::span<const double> targets, const Thinning& thinning) {
  Json json = {{"directory", run.directory},
               {"seed", run.seed},
               {"complete", run.complete},
               {"stopped_by", OrNull(run.stopped_by)},
               {"length_s", run.length_s},
               {"requests", run.requests},
               {"rejected", run.rejected},
               {"models_exchanged", run.models_exchanged},
               {"models_for_evaluation", run.models_for_evaluation},
               {"bytes_sent", OrNull(run.bytes_sent)},
               {"final_accuracy", OrNull(run.final_accuracy())},
               {"best_accuracy", OrNull(run.best_accuracy())}};
  Json times = Json::array(), requests = Json::array();
  for (double target : targets) {
    const TestFigures* test = run.Reaching(target);
    times.push_back(test == nullptr ? Json(nullptr) : Json(test->t_s));
    requests.push_back(test == nullptr ? Json(nullptr) : Json(test->requests));
  }
  json["time_to_accuracy_s"] = std::move(times);
  json["requests_to_accuracy"] = std::move(requests);
  json["tests"] = TestsJson(run.tests, thinning.most_tests);
  json["learners"] = Json::array();
  for (const LearnerFigures& learner : run.learners) {
    json["learners"].push_back(LearnerJson(learner));
  }
  json["updates"] = UpdatesJson(run.updates, thinning.most_updates);
  json["cycles"] = Json::array();
  for (const LearnerCycles& of : run.cycles) json["cycles"].push_back(CyclesJson(of));
  json["staleness"] = StalenessJson(run.learners);
  return json;
}

}  // namespace metis::report
