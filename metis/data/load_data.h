// From what a user names to a data set in memory: a known name, whose files are looked for where
// known data sets are kept (data_directory.h), or the path of a file. Reads the files whole,
// nothing else. Any thread.
#pragma once

#include <optional>
#include <string>

#include "metis/core/result.h"
#include "metis/data/catalogue.h"
#include "metis/data/dataset.h"

namespace metis::data {

struct DataSource {
  std::string what = {};       // a name of `metis data list`, or the path of a file
  std::string directory = {};  // where known data sets are kept (data_directory.h)
  LoadOptions options = {};
};

struct LoadedData {
  Dataset train;
  std::optional<Dataset> test;  // a file by itself has none
};

// Both parts of a known set, or the one data set of a file. Errors say the way out: the nearest
// name, or where the set is offered.
Result<LoadedData> LoadData(const DataSource& source);

// "no such set" with the nearest name, for a name that is none.
Error UnknownName(const std::string& name);

}  // namespace metis::data
