#include "apps/load_data.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>
#include <vector>

#include "apps/data_fetch.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

using data::Dataset;
using data::KnownSet;

std::vector<std::string> KnownNames() {
  std::vector<std::string> names;
  for (const KnownSet& set : data::KnownSets()) names.emplace_back(set.name);
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
  Result<Dataset> train = data::LoadKnown(set, directory, data::Part::kTrain, source.options);
  if (!train) return train.error();
  Result<Dataset> test = data::LoadKnown(set, directory, data::Part::kTest, source.options);
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
  if (const KnownSet* known = data::FindKnown(source.what)) return LoadNamed(*known, source);
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
  Result<Dataset> set = data::LoadFile(source.what, source.options);
  if (!set) return set.error();
  return LoadedData{*std::move(set), std::nullopt};
}

void AddDataDirectoryOption(CLI::App& app, std::string& directory) {
  app.add_option("--data-dir", directory, "Where known data sets are kept")->capture_default_str();
}

void AddDataOptions(CLI::App& app, DataSource& source) {
  app.add_option("DATA", source.what,
                 "A known name, or a file: .npz, .csv, CIFAR's .bin, ...images-idx3-ubyte[.gz]")
      ->required();
  AddLoadOptions(app, source);
}

void AddLoadOptions(CLI::App& app, DataSource& source) {
  AddDataDirectoryOption(app, source.directory);
  app.add_option("--label-column", source.options.label_column,
                 "Of a CSV file with a header: the column of the labels (default: the last)")
      ->type_name("NAME");
  app.add_flag("--coarse-labels", source.options.coarse_labels,
               "Of CIFAR-100: its 20 groups of classes instead of its 100 classes");
}

}  // namespace metis::apps
