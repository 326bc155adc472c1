// metis-data: data sets on this machine: which there are, what is in them, bringing them in.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/data_directory.h"
#include "apps/data_fetch.h"
#include "apps/table.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/data/catalogue.h"
#include "metis/data/sheet.h"

namespace metis::apps {
namespace {

using data::Dataset;
using data::KnownSet;
using Json = nlohmann::ordered_json;

constexpr uint32_t kSheetColumns = 12;

struct Options {
  std::string data_directory = DefaultDataDirectory();
  std::string what;  // a path or a name
  std::vector<std::string> files;
  std::string sheet;
  bool json = false;
};

std::vector<std::string> KnownNames() {
  std::vector<std::string> names;
  for (const KnownSet& set : data::KnownSets()) names.emplace_back(set.name);
  return names;
}

Error UnknownName(const std::string& name) {
  std::string near = Nearest(name, KnownNames());
  return NotFound(Text("\"", name, "\" is no data set that Metis knows",
                       near.empty() ? "" : Text(", did you mean \"", near, "\"?"), "\nKnown are ",
                       Join(KnownNames()), "; see `metis data list`."));
}

Error Absent(const KnownSet& set, const std::string& data_directory) {
  return NotFound(Text(set.name, " is not in ", data_directory, ".\nIts files are offered at ",
                       set.origin, ".\nThen: metis data import ", set.name, " FILES..."));
}

int List(const Options& options) {
  Json rows = Json::array();
  Table table({{"name"},
               {"train", Align::kRight},
               {"test", Align::kRight},
               {"classes", Align::kRight},
               {"here"},
               {"offered at"}});
  for (const KnownSet& set : data::KnownSets()) {
    std::string here = Locate(set, options.data_directory);
    table.AddRow({std::string(set.name), Text(set.train_examples), Text(set.test_examples),
                  Text(set.classes), here.empty() ? "no" : "yes", std::string(set.origin)});
    rows.push_back({{"name", set.name},
                    {"title", set.title},
                    {"train", set.train_examples},
                    {"test", set.test_examples},
                    {"classes", set.classes},
                    {"directory", here.empty() ? Json() : Json(here)},
                    {"origin", set.origin}});
  }
  if (options.json) {
    std::cout << rows.dump(2) << "\n";
    return Finish();
  }
  table.Print(std::cout, OutputIsTerminal());
  std::cout << "\nKept in " << options.data_directory
            << "; bring one in: metis data fetch NAME, or metis data import NAME "
            << "FILES...\n";
  return Finish();
}

// Both parts of a known set, or the one data set of a file.
Result<std::vector<Dataset>> Load(const Options& options) {
  std::vector<Dataset> sets;
  const KnownSet* known = data::FindKnown(options.what);
  std::string directory;
  std::error_code ignored;
  if (known != nullptr) {
    directory = Locate(*known, options.data_directory);
    if (directory.empty()) return Absent(*known, options.data_directory);
  } else if (std::filesystem::is_directory(options.what, ignored)) {
    return Invalid(Text(options.what,
                        " is a directory: name a file in it, or bring it in under its "
                        "name: metis data import NAME ",
                        options.what));
  } else if (!std::filesystem::exists(options.what, ignored) &&
             options.what.find_first_of("/.") == std::string::npos) {
    return UnknownName(options.what);
  } else {
    Result<Dataset> set = data::LoadFile(options.what);
    if (!set) return set.error();
    sets.push_back(std::move(*set));
    return sets;
  }
  for (data::Part part : data::kParts) {
    Result<Dataset> set = data::LoadKnown(*known, directory, part);
    if (!set) return set.error();
    sets.push_back(std::move(*set));
  }
  return sets;
}

Json Describe(const Dataset& set) {
  Json classes = Json::array();
  for (uint32_t c = 0; c < set.classes(); ++c) {
    classes.push_back({{"name", set.ClassName(c)}, {"examples", set.class_counts()[c]}});
  }
  Json described = {{"name", set.name()},
                    {"examples", set.size()},
                    {"values", set.has_pixels() ? "pixels" : "features"},
                    {"shape", {set.shape().channels, set.shape().height, set.shape().width}},
                    {"means", set.means()},
                    {"fingerprint", Hex(set.ContentFingerprint())},
                    {"classes", classes}};
  if (set.has_writers()) described["writers"] = set.writer_names().size();
  return described;
}

void PrintSummary(const Dataset& set) {
  std::vector<std::string> means;
  for (double mean : set.means()) means.push_back(Fixed(mean, 4));
  Table table({{""}, {""}});
  table.AddRow({"name", set.name()});
  table.AddRow({"examples", Text(set.size())});
  table.AddRow({set.has_pixels() ? "pixels" : "features", FormatShape(set.shape())});
  table.AddRow({"means", Join(means, " ")});
  table.AddRow({"fingerprint", Hex(set.ContentFingerprint())});
  if (set.has_writers()) table.AddRow({"writers", Text(set.writer_names().size())});
  table.Print(std::cout);
  std::cout << "\n";
}

// One row a class, one column of counts a data set.
void PrintClasses(const std::vector<Dataset>& sets) {
  std::vector<Table::Column> columns = {{"class", Align::kRight}, {"name"}};
  if (sets.size() == 1) columns.push_back({"examples", Align::kRight});
  for (size_t i = 0; i < sets.size() && sets.size() > 1; ++i) {
    columns.push_back({std::string(PartName(data::kParts[i])), Align::kRight});
  }
  Table table(std::move(columns));
  for (uint32_t c = 0; c < sets[0].classes(); ++c) {
    std::vector<std::string> row = {Text(c), sets[0].ClassName(c)};
    for (const Dataset& set : sets) row.push_back(Text(set.class_counts()[c]));
    table.AddRow(std::move(row));
  }
  table.Print(std::cout, OutputIsTerminal());
}

int Info(const Options& options) {
  Result<std::vector<Dataset>> sets = Load(options);
  if (!sets) return Complain(sets.error().message);
  if (!options.sheet.empty()) {
    Result<data::Picture> picture = data::MakeContactSheet(sets->front(), kSheetColumns);
    if (!picture) return Complain(picture.error().message);
    Result<void> written = data::WritePng(*picture, options.sheet);
    if (!written) return Complain(written.error().message);
  }
  if (options.json) {
    Json all = Json::array();
    for (const Dataset& set : *sets) all.push_back(Describe(set));
    // File names need not be UTF-8, JSON is.
    std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    return Finish();
  }
  for (const Dataset& set : *sets) PrintSummary(set);
  PrintClasses(*sets);
  if (!options.sheet.empty()) std::cout << "\nContact sheet in " << options.sheet << ".\n";
  return Finish();
}

int BringIn(const Options& options) {
  const KnownSet* set = data::FindKnown(options.what);
  if (set == nullptr) {
    return Complain(UnknownName(options.what).message +
                    "\nOther files need no import: name their path.");
  }
  Result<std::string> place = Import(*set, options.files, options.data_directory);
  if (!place) return Complain(place.error().message);
  std::cout << set->name << ": " << set->train_examples << " training and " << set->test_examples
            << " test examples are in " << *place << ".\n";
  return Finish();
}

int BringFromAfar(const Options& options) {
  for (const std::string& name : options.files) {
    const KnownSet* set = data::FindKnown(name);
    if (set == nullptr) return Complain(UnknownName(name).message);
    std::string here = Locate(*set, options.data_directory);
    if (here.empty() && !CanFetch(*set)) {
      return Complain(Text("there is no package of ", name, ".\nIts files are offered at ",
                           set->origin, ".\nThen: metis data import ", name, " FILES..."));
    }
    const bool fresh = here.empty();
    if (fresh) {
      Result<std::string> place = Fetch(*set, options.data_directory);
      if (!place) return Complain(place.error().message);
      here = *place;
    }
    std::cout << name << (fresh ? " is now in " : " is already in ") << here << "\n";
  }
  return Finish();
}

// A command with what all of them have: an example, and where the data sets are.
CLI::App* AddCommand(CLI::App& app, const std::string& word, const std::string& description,
                     const std::string& example, Options& options) {
  CLI::App* command = app.add_subcommand(word, description);
  command->footer("Example:\n" + example);
  command->add_option("--data-dir", options.data_directory, "Where known data sets are kept")
      ->capture_default_str();
  return command;
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Data sets on this machine: which there are, what is in them, bringing them in.",
               "metis data");
  app.footer("Example:\n  metis data list\n  metis data info digits.npz --sheet digits.png");
  app.require_subcommand(1);
  AddVersionOption(app);

  CLI::App* list =
      AddCommand(app, "list", "List the data sets known by name", "  metis data list", options);
  list->add_flag("--json", options.json, "Print JSON");

  CLI::App* info = AddCommand(app, "info", "Say what is in a data set",
                              "  metis data info fashion-mnist --sheet sheet.png\n"
                              "  metis data info measurements.csv",
                              options);
  info->add_option("DATA", options.what,
                   "A known name, or a file: .npz, .csv, CIFAR's .bin, ...images-idx3-ubyte[.gz]")
      ->required();
  info->add_flag("--json", options.json, "Print JSON");
  info->add_option("--sheet", options.sheet,
                   "Also write a picture (PNG) of examples, a row a class")
      ->type_name("FILE");

  CLI::App* import = AddCommand(app, "import", "Check the files of a known data set and keep them",
                                "  metis data import mnist ~/Downloads/*-ubyte.gz\n"
                                "  metis data import cifar10 ~/Downloads/cifar-10-batches-bin",
                                options);
  import->add_option("NAME", options.what, "A name of `metis data list`")->required();
  import->add_option("FILES", options.files, "Its files, or a directory with them")->required();

  CLI::App* fetch = AddCommand(app, "fetch", "Download known data sets, check and keep them",
                               "  metis data fetch mnist fashion-mnist cifar10", options);
  fetch->add_option("NAMES", options.files, "Names of `metis data list`")->required();

  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (list->parsed()) return List(options);
  if (info->parsed()) return Info(options);
  if (fetch->parsed()) return BringFromAfar(options);
  return BringIn(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
