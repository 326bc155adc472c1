// Policies and their parts by name: the named policies of the paper's table, the kinds of parts
// that a policy is made of, and the keys that the parts declare. Everything that must know all
// parts (configuration, reference, swarm) goes through here. Pure functions over constants.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "metis/federation/part.h"
#include "metis/policy/parts.h"

namespace metis::policy {

// The named policies, in the order of the paper's table.
inline constexpr std::array<std::string_view, 6> kPolicyNames = {
    "sync-fedavg", "sync-dvw", "async-fedavg", "fedasync", "async-dvw", "async-dvw-adaptive"};
inline constexpr std::string_view kDefaultPolicy = "async-dvw";
// Stands for a combination of protocol, weighting and trigger that no policy has.
inline constexpr std::string_view kCustomPolicy = "custom";

// One kind of parts: the choice of one of them is one key of the configuration.
struct Kind {
  std::string_view key;                          // in [federation]
  std::string_view documentation;                // one sentence, before the help of its parts
  bool named = false;                            // what a named policy decides
  std::vector<const federation::Part*> parts;    // all of them
  std::vector<const federation::Part*> choices;  // those that can be chosen by themselves
  const federation::Part* (*chosen)(const federation::Policy&) = nullptr;
  void (*choose)(federation::Policy&, const federation::Part&) = nullptr;

  // Null: there is none of this name.
  const federation::Part* Find(std::string_view name) const;
};
const std::vector<Kind>& Kinds();             // in the order of the list of parts
const Kind& KindNamed(std::string_view key);  // checked: there is one

// Empty for a name that is none of kPolicyNames. All parts are chosen, those that the name says
// nothing of by default.
std::optional<federation::Policy> PolicyNamed(std::string_view name);
// kCustomPolicy for a combination that has no row of its own.
std::string_view NameOf(const federation::Policy& policy);
// The policy with another part of this kind. Another protocol brings its own aggregator with it.
// Checked: there are such a kind and part.
federation::Policy With(federation::Policy policy, std::string_view kind, std::string_view name);

// Every key that some part declares, each once, in the order of the list.
const std::vector<federation::PartKey>& Keys();
// "sync.round_deadline"; null: there is none.
const federation::PartKey* FindKey(std::string_view path);
// The documentation of a section of keys.
std::string_view SectionHelp(std::string_view section);

// Sets a key of a part by its path; checked: there is such a key, and it allows the value.
// Any integer is a whole number, and a text is a word.
template <typename T>
federation::KeyValue ValueOf(const T& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<int64_t>(value);
  } else {
    return value;
  }
}
const federation::PartKey& KeyNamed(std::string_view path);
template <typename T>
void Set(federation::Settings& settings, std::string_view path, const T& value) {
  settings.values.Set(KeyNamed(path), ValueOf(value));
}
template <typename T>
void SetOfGroup(federation::Settings& settings, std::string_view group, std::string_view path,
                const T& value) {
  settings.values.SetOfGroup(KeyNamed(path), group, ValueOf(value));
}

// What the chosen parts contradict.
std::vector<federation::PartConflict> FindConflicts(const federation::Settings& settings);

}  // namespace metis::policy
