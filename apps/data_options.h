// DATA, --data-dir, --label-column and --coarse-labels: the same for all programs that learn from
// data or look at them.
//
//   data::DataSource source;
//   AddDataOptions(app, source);
//   ...
//   Result<data::LoadedData> data = data::LoadData(source);
#pragma once

#include <string>

#include "metis/data/load_data.h"

namespace CLI {
class App;
}

namespace metis::apps {

void AddDataOptions(CLI::App& app, data::DataSource& source);
void AddLoadOptions(CLI::App& app, data::DataSource& source);  // all of them but DATA
void AddDataDirectoryOption(CLI::App& app, std::string& directory);

}  // namespace metis::apps
