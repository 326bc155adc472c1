// The keys that the parts of a policy bring with them (metis/policy), as keys of the configuration:
// the choice of a part of every kind, the parts' own keys, and those that a [[group]] may have. No
// part is known by name here.
#pragma once

#include <string>
#include <vector>

#include "metis/config/draft.h"
#include "metis/config/key.h"

namespace metis::config {

// protocol = "..." and its like; of kinds that leave a choice.
std::vector<Key<Draft>> ChoiceKeys();

struct PartSection {
  std::string_view name;
  std::string_view documentation;
  std::vector<Key<Draft>> keys;
};
// In the order of the list of parts.
std::vector<PartSection> PartSections();

std::vector<Key<GroupDraft>> PartKeysOfGroups();

// What the groups there are without any in the file have of their own: "`vc_loss_pct = 1` and
// `vc_tombstones = 1`". Empty: nothing.
std::string OwnValuesInWords(std::string_view group);

// "0.005 for the protocol \"fedasync\", else 0".
std::string ProximalDefaultInWords();

}  // namespace metis::config
