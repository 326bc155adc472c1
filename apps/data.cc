// metis-data: data sets on this machine: which there are, what is in them, bringing them in.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/table.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/data/catalogue.h"
#include "metis/data/data_directory.h"
#include "metis/data/data_fetch.h"
#include "metis/data/sheet.h"

namespace metis::apps {
namespace {

using data::Dataset;
using data::KnownSet;
using Json = nlohmann::ordered_json;

constexpr uint32_t kSheetColumns = 12;

struct Options {
  data::DataSource source;
  std::vector<std::string> files;
  std::string sheet;
  bool json = false;
};

int List(const Options& options) {
  Json rows = Json::array();
  Table table({{"name"},
               {"train", Align::kRight},
               {"test", Align::kRight},
               {"classes", Align::kRight},
               {"here"},
               {"offered at"}});
  for (const KnownSet& set : data::KnownSets()) {
    std::string here = data::Locate(set, options.source.directory);
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
  std::cout << "\nKept in " << options.source.directory
            << "; bring one in: metis data fetch NAME, or metis data import NAME "
            << "FILES...\n";
  return Finish();
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
  for (double mean : set.means()) means.push_back(Fixed(mean, 5));
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
void PrintClasses(const data::LoadedData& data) {
  const Dataset& train = data.train;
  std::vector<Table::Column> columns = {{"class", Align::kRight}, {"name"}};
  columns.push_back({data.test ? "train" : "examples", Align::kRight});
  if (data.test) columns.push_back({"test", Align::kRight});
  Table table(std::move(columns));
  for (uint32_t c = 0; c < train.classes(); ++c) {
    std::vector<std::string> row = {Text(c), train.ClassName(c), Text(train.class_counts()[c])};
    if (data.test) row.push_back(Text(data.test->class_counts()[c]));
    table.AddRow(std::move(row));
  }
  table.Print(std::cout, OutputIsTerminal());
}

int Info(const Options& options) {
  Result<data::LoadedData> data = data::LoadData(options.source);
  if (!data) return Complain(data.error().message);
  if (!options.sheet.empty()) {
    Result<data::Picture> picture = data::MakeContactSheet(data->train, kSheetColumns);
    if (!picture) return Complain(picture.error().message);
    Result<void> written = data::WritePng(*picture, options.sheet);
    if (!written) return Complain(written.error().message);
  }
  if (options.json) {
    Json all = Json::array();
    all.push_back(Describe(data->train));
    if (data->test) all.push_back(Describe(*data->test));
    // File names need not be UTF-8, JSON is.
    std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    return Finish();
  }
  PrintSummary(data->train);
  if (data->test) PrintSummary(*data->test);
  PrintClasses(*data);
  if (!options.sheet.empty()) std::cout << "\nContact sheet in " << options.sheet << ".\n";
  return Finish();
}

int BringIn(const Options& options) {
  const KnownSet* set = data::FindKnown(options.source.what);
  if (set == nullptr) {
    return Complain(data::UnknownName(options.source.what).message +
                    "\nOther files need no import: name their path.");
  }
  Result<std::string> place = data::Import(*set, options.files, options.source.directory);
  if (!place) return Complain(place.error().message);
  std::cout << set->name << ": " << set->train_examples << " training and " << set->test_examples
            << " test examples are in " << *place << ".\n";
  return Finish();
}

int BringFromAfar(const Options& options) {
  for (const std::string& name : options.files) {
    const KnownSet* set = data::FindKnown(name);
    if (set == nullptr) return Complain(data::UnknownName(name).message);
    std::string here = data::Locate(*set, options.source.directory);
    if (here.empty() && !data::CanFetch(*set)) {
      return Complain(Text("there is no package of ", name, ".\nIts files are offered at ",
                           set->origin, ".\nThen: metis data import ", name, " FILES..."));
    }
    const bool fresh = here.empty();
    if (fresh) {
      Console console;
      Result<std::string> place = data::Fetch(*set, options.source.directory, console);
      if (!place) return Complain(place.error().message);
      here = *place;
    }
    std::cout << name << (fresh ? " is now in " : " is already in ") << here << "\n";
  }
  return Finish();
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Data sets on this machine: which there are, what is in them, bringing them in.",
               "metis data");
  app.footer("Example:\n  metis data list\n  metis data info digits.npz --sheet digits.png");
  app.require_subcommand(1);
  AddVersionOption(app);

  CLI::App* list = AddCommand(app, "list", "List the data sets known by name", "  metis data list");
  AddDataDirectoryOption(*list, options.source.directory);
  list->add_flag("--json", options.json, "Print JSON");

  CLI::App* info = AddCommand(app, "info", "Say what is in a data set",
                              "  metis data info fashion-mnist --sheet sheet.png\n"
                              "  metis data info measurements.csv");
  AddDataOptions(*info, options.source);
  info->add_flag("--json", options.json, "Print JSON");
  info->add_option("--sheet", options.sheet,
                   "Also write a picture (PNG) of examples, a row a class")
      ->type_name("FILE");

  CLI::App* import = AddCommand(app, "import", "Check the files of a known data set and keep them",
                                "  metis data import mnist ~/Downloads/*-ubyte.gz\n"
                                "  metis data import cifar10 ~/Downloads/cifar-10-batches-bin");
  AddDataDirectoryOption(*import, options.source.directory);
  import->add_option("NAME", options.source.what, "A name of `metis data list`")->required();
  import->add_option("FILES", options.files, "Its files, or a directory with them")->required();

  CLI::App* fetch = AddCommand(app, "fetch", "Download known data sets, check and keep them",
                               "  metis data fetch mnist fashion-mnist cifar10");
  AddDataDirectoryOption(*fetch, options.source.directory);
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
