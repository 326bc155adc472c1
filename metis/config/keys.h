// The table of all keys: the one place where a key is described.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metis/config/draft.h"
#include "metis/config/key.h"

namespace metis::config {

struct Section {
  std::string_view name;
  std::string_view documentation;
  std::vector<Key<Draft>> keys;
};

// In the order in which they are written.
const std::vector<Section>& Sections();

// The keys of a [[group]].
const std::vector<Key<GroupDraft>>& GroupKeys();
inline constexpr std::string_view kGroup = "group";
inline constexpr std::string_view kGroupDocumentation =
    "Learners with the same machine and link; one table for each group.";

// Null for a name that is in no table.
const Section* FindSection(std::string_view name);

template <typename Target>
const Key<Target>* FindKey(const std::vector<Key<Target>>& keys, std::string_view name) {
  for (const Key<Target>& key : keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

template <typename Target>
std::vector<std::string> NamesOf(const std::vector<Key<Target>>& keys) {
  std::vector<std::string> names;
  for (const Key<Target>& key : keys) names.emplace_back(key.name);
  return names;
}

}  // namespace metis::config
