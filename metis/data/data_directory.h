// Where known data sets are kept: DIRECTORY/NAME/ with the official files, as `metis data` puts
// them there. A set is put there whole or not at all; one process puts it there at a time, anybody
// may look.
#pragma once

#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/catalogue.h"

namespace metis::data {

// The directory with the complete files of the set: below `data_directory`, else where a package of
// the system has put them; empty if they are in neither.
std::string Locate(const KnownSet& set, const std::string& data_directory);

enum class Trust {
  kAnyOfThatSize,  // a user's own files: format and numbers of examples are checked
  kAsRecorded,     // also that the content is bit for bit the recorded one (KnownSet)
};

// Copies `files` (directories stand for the files in them that belong to the set) below
// `data_directory`, reads the copies, and only then puts them in the place of what was there.
// Returns the directory.
Result<std::string> Import(const KnownSet& set, const std::vector<std::string>& files,
                           const std::string& data_directory, Trust trust = Trust::kAnyOfThatSize);

}  // namespace metis::data
