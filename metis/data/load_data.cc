#include "metis/data/load_data.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "metis/core/text.h"
#include "metis/data/data_directory.h"
#include "metis/data/data_fetch.h"

namespace metis::data {
namespace {

std::vector<std::string> KnownNames() {
  std::vector<std::string> names;
  for (const KnownSet& set : KnownSets()) names.emplace_back(set.name);
  return names;
}

Result<LoadedData> LoadNamed(const KnownSet& set, const DataSource& source) {
  const std::string directory = Locate(set, source.directory);
  if (directory.empty()) {
    const std::string fetch =
        CanFetch(set) ? Text("Bring it here: metis data fetch ", set.name, "\n") : "";
    return NotFound(Text(set.name, " is not in ", source.directory, ".\n", fetch,
                         "Its files are offered at ", set.origin, ".\nThen: metis data import ",
                         set.name, " FILES..."));
  }
  Result<Dataset> train = LoadKnown(set, directory, Part::kTrain, source.options);
  if (!train) return train.error();
  Result<Dataset> test = LoadKnown(set, directory, Part::kTest, source.options);
  if (!test) return test.error();
  return LoadedData{*std::move(train), *std::move(test)};
}

}  // namespace

Error UnknownName(const std::string& name) {
  std::string near = Nearest(name, KnownNames());
  return NotFound(Text("\"", name, "\" is no data set that Metis knows",
                       near.empty() ? "" : Text(", did you mean \"", near, "\"?"), "\nKnown are ",
                       Join(KnownNames()), "; see `metis data list`."));
}

Result<LoadedData> LoadData(const DataSource& source) {
  std::error_code ignored;
  if (const KnownSet* known = FindKnown(source.what)) return LoadNamed(*known, source);
  if (std::filesystem::is_directory(source.what, ignored)) {
    return Invalid(Text(source.what,
                        " is a directory: name a file in it, or bring it in under its "
                        "name: metis data import NAME ",
                        source.what));
  }
  if (!std::filesystem::exists(source.what, ignored) &&
      source.what.find_first_of("/.") == std::string::npos) {
    return UnknownName(source.what);
  }
  Result<Dataset> set = LoadFile(source.what, source.options);
  if (!set) return set.error();
  return LoadedData{*std::move(set), std::nullopt};
}

}  // namespace metis::data
