#include "apps/data_options.h"

#include <CLI/CLI.hpp>

#include "apps/user_directories.h"

namespace metis::apps {

void AddDataDirectoryOption(CLI::App& app, std::string& directory) {
  if (directory.empty()) directory = DefaultDataDirectory();
  app.add_option("--data-dir", directory, "Where known data sets are kept")->capture_default_str();
}

void AddDataOptions(CLI::App& app, data::DataSource& source) {
  app.add_option("DATA", source.what,
                 "A known name, or a file: .npz, .csv, CIFAR's .bin, ...images-idx3-ubyte[.gz]")
      ->required();
  AddLoadOptions(app, source);
}

void AddLoadOptions(CLI::App& app, data::DataSource& source) {
  AddDataDirectoryOption(app, source.directory);
  app.add_option("--label-column", source.options.label_column,
                 "Of a CSV file with a header: the column of the labels (default: the last)")
      ->type_name("NAME");
  app.add_flag("--coarse-labels", source.options.coarse_labels,
               "Of CIFAR-100: its 20 groups of classes instead of its 100 classes");
}

}  // namespace metis::apps
