// Which runs belong together, and what a group is called.
#include <algorithm>
#include <set>

#include "metis/core/text.h"
#include "metis/report/figures.h"

namespace metis::report {
namespace {

// More in a label and nobody would read it.
constexpr size_t kNamedSettings = 3;

bool SameOutcome(const RunFigures& a, const RunFigures& b) {
  return a.complete == b.complete && a.requests == b.requests &&
         std::equal(a.tests.begin(), a.tests.end(), b.tests.begin(), b.tests.end(),
                    [](const TestFigures& x, const TestFigures& y) {
                      return x.t_s == y.t_s && x.accuracy == y.accuracy;
                    });
}

const RunFigures* WithSeed(const Group& group, uint64_t seed) {
  for (const RunFigures& run : group.runs) {
    if (run.seed == seed) return &run;
  }
  return nullptr;
}

// Where the run belongs: a group's index, the number of groups for a new one, or nothing if one of
// the groups holds the same run.
std::optional<size_t> PlaceOf(const RunFigures& run, const std::vector<Group>& groups,
                              std::vector<std::string>& notices) {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].settings != run.settings || groups[i].policy != run.policy) continue;
    const RunFigures* same_seed = WithSeed(groups[i], run.seed);
    if (same_seed == nullptr) return i;
    if (SameOutcome(*same_seed, run)) {
      notices.push_back(Text(run.directory, " is left out: it repeats ", same_seed->directory,
                             " (the same settings, seed ", run.seed, " and outcome)"));
      return std::nullopt;
    }
  }
  return groups.size();
}

std::string ValueOf(const FlatSettings& settings, const std::string& key) {
  auto found = settings.find(key);
  return found == settings.end() ? "unset" : found->second;
}

// The keys that have not the same value in all of the groups.
std::set<std::string> Differing(const std::vector<const Group*>& groups) {
  std::set<std::string> keys;
  for (const Group* group : groups) {
    for (const auto& [key, value] : group->settings) {
      for (const Group* other : groups) {
        if (ValueOf(other->settings, key) != value) keys.insert(key);
      }
    }
  }
  return keys;
}

// How many groups can be told from each other by the values of these keys.
size_t ToldApart(const std::vector<const Group*>& groups, const std::vector<std::string>& keys) {
  std::set<std::vector<std::string>> distinct;
  for (const Group* group : groups) {
    std::vector<std::string> values;
    for (const std::string& key : keys) values.push_back(ValueOf(group->settings, key));
    distinct.insert(std::move(values));
  }
  return distinct.size();
}

// All of the keys, or, where they are too many to read, some that tell the groups apart as well:
// each next one is that which tells most, the first by name of equals.
std::vector<std::string> Telling(const std::vector<const Group*>& groups,
                                 const std::set<std::string>& keys) {
  std::vector<std::string> all(keys.begin(), keys.end());
  if (all.size() <= kNamedSettings) return all;
  std::vector<std::string> chosen;
  while (ToldApart(groups, chosen) < ToldApart(groups, all)) {
    std::vector<std::string> best;
    for (const std::string& key : all) {
      std::vector<std::string> next = chosen;
      next.push_back(key);
      if (best.empty() || ToldApart(groups, next) > ToldApart(groups, best)) best = next;
    }
    chosen = std::move(best);
  }
  return chosen;
}

// Labels the groups of one policy.
void Label(const std::vector<Group*>& groups) {
  const std::vector<const Group*> constant(groups.begin(), groups.end());
  const std::set<std::string> keys = Differing(constant);
  const std::vector<std::string> named = Telling(constant, keys);
  const size_t more = keys.size() - named.size();
  for (Group* group : groups) {
    group->label = group->policy;
    for (const std::string& key : named) {
      group->label += Text(", ", key, " = ", ValueOf(group->settings, key));
    }
    if (more > 0) group->label += Text(", ", more, " more setting", more > 1 ? "s" : "");
    // Others may have the very same settings: the same seeds with another outcome.
    const bool alone = std::none_of(groups.begin(), groups.end(), [&](const Group* other) {
      return other != group && other->settings == group->settings;
    });
    if (!alone) group->label += Text(", in ", group->runs.front().directory);
  }
}

}  // namespace

std::vector<Group> GroupRuns(std::vector<RunFigures> runs, std::vector<std::string>& notices) {
  std::vector<Group> groups;
  for (RunFigures& run : runs) {
    const std::optional<size_t> place = PlaceOf(run, groups, notices);
    if (!place) continue;
    if (*place == groups.size()) groups.push_back({"", run.policy, run.settings, {}});
    groups[*place].runs.push_back(std::move(run));
  }
  std::map<std::string, std::vector<Group*>> by_policy;
  for (Group& group : groups) by_policy[group.policy].push_back(&group);
  for (const auto& [policy, of_policy] : by_policy) Label(of_policy);
  for (Group& group : groups) {
    std::sort(group.runs.begin(), group.runs.end(),
              [](const RunFigures& a, const RunFigures& b) { return a.seed < b.seed; });
  }
  return groups;
}

}  // namespace metis::report
