// metis-partition: deals a data set to learners and shows who gets what, before anything is
// trained on it.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/data_options.h"
#include "apps/dealt_view.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

constexpr uint32_t kDefaultLearners = 10;

struct Options {
  data::DataSource source;
  std::optional<uint32_t> learners;
  std::string sizes = "uniform";
  std::string classes = "iid";
  uint64_t seed = 1990;
  std::optional<double> validation;
  std::vector<std::string> faulty;
  std::string csv;
  std::string svg;
  bool full = false;
  bool json = false;
};

// Everything that can be wrong before the data are read, which may take a while.
Result<data::DealSettings> Settings(const Options& options) {
  data::DealSettings settings;
  settings.seed = options.seed;
  settings.validation = options.validation;
  if (settings.validation && !(*settings.validation > 0 && *settings.validation < 1)) {
    return Invalid(
        Text("--validation ", *settings.validation, ": must be a part between 0 and 1, e.g. 0.05"));
  }
  Result<void> read = data::ParseSizes(options.sizes, settings.partition);
  if (read) read = data::ParseClasses(options.classes, settings.partition);
  if (read) read = data::ReadTable(settings.partition);
  if (!read) return read.error();
  const bool table = settings.partition.classes == data::ClassDistribution::kTable;
  settings.learners = options.learners.value_or(
      table ? static_cast<uint32_t>(settings.partition.table.counts.size()) : kDefaultLearners);
  for (const std::string& text : options.faulty) {
    Result<data::FaultyLabels> faulty = data::ParseFaultyLabels(text);
    if (!faulty) return faulty.error();
    settings.faulty.push_back(*faulty);
  }
  return settings;
}

Result<void> WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return {};
  return Unavailable(
      Text(path, ": can't be written: does its directory exist, and is there room?"));
}

int Run(const Options& options) {
  Result<data::DealSettings> settings = Settings(options);
  if (!settings) return Complain(settings.error().message);
  Result<data::LoadedData> data = data::LoadData(options.source);
  if (!data) return Complain(data.error().message);
  Result<void> done = data::CheckTitles(settings->partition.table, data->train);
  if (!done) return Complain(done.error().message);
  Result<data::DealtData> dealt = data::DealData(data->train, *settings);
  if (!dealt) return Complain(dealt.error().message);

  if (!options.csv.empty()) done = WriteFile(options.csv, DealtAsCsv(*dealt));
  if (done && !options.svg.empty()) done = WriteFile(options.svg, DealtAsSvg(*dealt));
  if (!done) return Complain(done.error().message);
  if (options.json) {
    std::cout << DealtAsJson(*dealt);
    return Finish();
  }
  PrintDealt(*dealt, options.full, std::cout, OutputIsTerminal());
  if (!options.csv.empty()) {
    std::cout << "Table in " << options.csv
              << "; the same counts again: --classes table:" << options.csv << "\n";
  }
  if (!options.svg.empty()) std::cout << "Drawing in " << options.svg << "\n";
  return Finish();
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Deal a data set to learners and show who gets what.", "metis partition");
  app.footer(
      "Learners are numbered from 0, largest first. The same options and seed give the same "
      "partition.\n\n"
      "Example:\n"
      "  metis partition fashion-mnist --sizes powerlaw --classes noniid:8x1,4x1,3x8 "
      "--svg deal.svg\n"
      "  metis partition mnist --learners 4 --classes table:counts.csv --faulty 1:labels=random");
  AddVersionOption(app);
  AddDataOptions(app, options.source);
  app.add_option("--learners", options.learners,
                 "Number of learners (default: 10, or those of the table)")
      ->transform(WholeWithin(1, 1'000'000));
  app.add_option("--sizes", options.sizes, "uniform, skewed, powerlaw[:EXPONENT]")
      ->capture_default_str();
  app.add_option("--classes", options.classes,
                 "iid, noniid:X, noniid:8x1,4x1,3x8, dirichlet:ALPHA, table:FILE, writers")
      ->capture_default_str();
  AddSeedOption(app, options.seed, "Seed of every random draw");
  app.add_option("--validation", options.validation,
                 "The part of its examples that a learner keeps for validation, e.g. 0.05");
  app.add_option("--faulty", options.faulty,
                 "A learner with wrong labels: N:labels=random, noise:RATE, constant:CLASS, "
                 "swap:CLASS-CLASS; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--full", options.full, "Print the counts of all classes, however many");
  app.add_flag("--json", options.json, "Print JSON");
  app.add_option("--csv", options.csv, "Also write the counts, as table:FILE reads them")
      ->type_name("FILE");
  app.add_option("--svg", options.svg, "Also write a drawing")->type_name("FILE");
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  return Run(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
