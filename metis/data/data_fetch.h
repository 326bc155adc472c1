// Fetching known data sets with the package managers of this machine: what they deliver is unpacked
// in a directory of its own, converted where needed, compared bit for bit with the recorded
// content and imported. Needs the network; blocks until done, telling each step. Any thread; one a
// data directory at a time.
#pragma once

#include <string>

#include "metis/core/narrator.h"
#include "metis/core/result.h"
#include "metis/data/catalogue.h"

namespace metis::data {

// Whether there is a package of it.
bool CanFetch(const KnownSet& set);

// Returns the directory of the set below `data_directory`.
Result<std::string> Fetch(const KnownSet& set, const std::string& data_directory,
                          Narrator& narrator);

}  // namespace metis::data
