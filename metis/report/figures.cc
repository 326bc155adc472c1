#include "metis/report/figures.h"

#include <algorithm>
#include <functional>

#include "metis/core/text.h"

namespace metis::report {
namespace {

// So that a page of many runs stays within some 20 MB: an update takes about 50 bytes.
constexpr size_t kMostUpdatesOfAll = 240'000;
constexpr size_t kMostTestsOfAll = 24'000;
constexpr size_t kPlacesInTitle = 3;

std::string TitleOf(const std::vector<std::string>& places) {
  const size_t shown = std::min(places.size(), kPlacesInTitle);
  std::vector<std::string> named(places.begin(),
                                 places.begin() + static_cast<std::ptrdiff_t>(shown));
  const size_t more = places.size() - shown;
  return Join(named) + (more > 0 ? Text(" and ", more, " more") : "");
}

// Twice the runs that meet the condition are at least all of them.
bool HalfOf(const std::vector<RunFigures>& runs,
            const std::function<bool(const RunFigures&)>& condition) {
  const auto met = std::count_if(runs.begin(), runs.end(), condition);
  return 2 * static_cast<size_t>(met) >= runs.size();
}

bool ReachedAtOnce(const RunFigures& run, double accuracy) {
  return !run.tests.empty() && run.tests.front().accuracy >= accuracy;
}

// More than half of the groups come there, and not all of them began there.
bool TellsGroupsApart(const std::vector<Group>& groups, double accuracy) {
  size_t reached = 0, at_once = 0;
  for (const Group& group : groups) {
    auto reaches = [&](const RunFigures& run) { return run.Reaching(accuracy) != nullptr; };
    auto begins = [&](const RunFigures& run) { return ReachedAtOnce(run, accuracy); };
    if (HalfOf(group.runs, reaches)) ++reached;
    if (std::all_of(group.runs.begin(), group.runs.end(), begins)) ++at_once;
  }
  return 2 * reached > groups.size() && at_once < groups.size();
}

// The highest of 1/steps, 2/steps ... 1; by division, so that 0.15 is the 0.15 of a reader.
std::vector<double> HighestTargets(const std::vector<Group>& groups, int steps) {
  std::vector<double> targets;
  for (int i = steps; i > 0 && targets.size() < kMaxTargets; --i) {
    const double accuracy = static_cast<double>(i) / steps;
    if (TellsGroupsApart(groups, accuracy)) targets.push_back(accuracy);
  }
  std::reverse(targets.begin(), targets.end());
  return targets;
}

template <typename Get>
Measured MeasuredOf(const Group& group, const Get& get) {
  Measured measured;
  std::vector<double> there;
  for (const RunFigures& run : group.runs) {
    measured.values.push_back(get(run));
    if (measured.values.back()) there.push_back(*measured.values.back());
  }
  measured.spread = SpreadOf(there);
  return measured;
}

Thinning ThinningFor(size_t runs) {
  const size_t several = std::max<size_t>(runs, 1);
  Thinning thinning;
  thinning.most_updates = std::min(thinning.most_updates, kMostUpdatesOfAll / several + 1);
  thinning.most_tests = std::min(thinning.most_tests, kMostTestsOfAll / several + 1);
  return thinning;
}

}  // namespace

size_t Figures::runs() const {
  size_t count = 0;
  for (const Group& group : groups) count += group.runs.size();
  return count;
}

Result<Figures> GatherFigures(const std::vector<std::string>& places, std::vector<double> targets,
                              const ReadSettings& read_settings) {
  Result<std::vector<std::string>> directories = FindRuns(places);
  if (!directories) return directories.error();
  std::vector<RunFigures> runs;
  for (const std::string& directory : *directories) {
    Result<RunFigures> run = ReadRunFigures(directory, read_settings);
    if (!run) return run.error();
    runs.push_back(*std::move(run));
  }
  Figures figures;
  figures.title = TitleOf(places);
  figures.groups = GroupRuns(std::move(runs), figures.notices);
  figures.targets = targets.empty() ? ChooseTargets(figures.groups) : std::move(targets);
  return figures;
}

std::vector<double> ChooseTargets(const std::vector<Group>& groups) {
  std::vector<double> targets = HighestTargets(groups, 20);
  return targets.empty() ? HighestTargets(groups, 100) : targets;
}

Comparison Compare(const Group& group, const std::vector<double>& targets) {
  using Optional = std::optional<double>;
  auto count_of = [&](uint64_t RunFigures::*member) {
    return MeasuredOf(group, [member](const RunFigures& run) {
      return Optional(static_cast<double>(run.*member));
    });
  };
  Comparison comparison;
  comparison.requests = count_of(&RunFigures::requests);
  comparison.rejected = count_of(&RunFigures::rejected);
  comparison.models_exchanged = count_of(&RunFigures::models_exchanged);
  comparison.models_for_evaluation = count_of(&RunFigures::models_for_evaluation);
  comparison.final_accuracy =
      MeasuredOf(group, [](const RunFigures& run) { return run.final_accuracy(); });
  comparison.best_accuracy =
      MeasuredOf(group, [](const RunFigures& run) { return run.best_accuracy(); });
  for (double target : targets) {
    comparison.time_to_accuracy_s.push_back(MeasuredOf(group, [&](const RunFigures& run) {
      const TestFigures* test = run.Reaching(target);
      return test == nullptr ? std::nullopt : Optional(test->t_s);
    }));
    comparison.requests_to_accuracy.push_back(MeasuredOf(group, [&](const RunFigures& run) {
      const TestFigures* test = run.Reaching(target);
      return test == nullptr ? std::nullopt : Optional(static_cast<double>(test->requests));
    }));
  }
  return comparison;
}

Json FiguresJson(const Figures& figures, const std::string& program) {
  const Thinning thinning = ThinningFor(figures.runs());
  Json groups = Json::array();
  for (const Group& group : figures.groups) {
    Json runs = Json::array();
    for (const RunFigures& run : group.runs) {
      runs.push_back(RunJson(run, figures.targets, thinning));
    }
    groups.push_back({{"label", group.label},
                      {"policy", group.policy},
                      {"settings", group.settings},
                      {"runs", std::move(runs)}});
  }
  return {{"title", figures.title},
          {"program", program},
          {"target_accuracies", figures.targets},
          {"groups", std::move(groups)}};
}

}  // namespace metis::report
