// From what a user names on the command line to a data set in memory; for all programs that learn
// from data or look at it.
//
//   DataSource source;
//   AddDataOptions(app, source);     // DATA, --data-dir, --label-column, --coarse-labels
//   ...
//   Result<LoadedData> data = LoadData(source);
#pragma once

#include <optional>
#include <string>

#include "apps/data_directory.h"
#include "metis/core/result.h"
#include "metis/data/catalogue.h"
#include "metis/data/dataset.h"

namespace CLI {
class App;
}

namespace metis::apps {

struct DataSource {
  std::string what = {};  // a name of `metis data list`, or the path of a file
  std::string directory = DefaultDataDirectory();  // where known data sets are kept
  data::LoadOptions options = {};
};

struct LoadedData {
  data::Dataset train;
  std::optional<data::Dataset> test;  // a file by itself has none
};

// Both parts of a known set, or the one data set of a file. Errors say the way out: the nearest
// name, or where the set is offered.
Result<LoadedData> LoadData(const DataSource& source);

// "no such set" with the nearest name, for a name that is none.
Error UnknownName(const std::string& name);

void AddDataOptions(CLI::App& app, DataSource& source);
void AddLoadOptions(CLI::App& app, DataSource& source);  // all of them but DATA
void AddDataDirectoryOption(CLI::App& app, std::string& directory);

}  // namespace metis::apps
