// metis-experiment: the tables of the paper's evaluation, run cell by cell and set beside the
// paper's own figures.
#include <CLI/CLI.hpp>
#include <iostream>
#include <thread>

#include "apps/cli.h"
#include "apps/experiment_commands.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

struct Options {
  ExperimentOptions experiment;
  CacheOptions cache;
  bool json = false;
  bool markdown = false;
  bool csv = false;
};

void AddExperiments(CLI::App& command, ExperimentOptions& options) {
  command.add_option("--experiments", options.experiments,
                     "The directory of the tables; default: experiments, or as installed");
}

void AddPlaces(CLI::App& command, ExperimentOptions& options) {
  command.add_option("--out", options.out, "Where the runs are kept")->capture_default_str();
  AddExperiments(command, options);
}

void AddScale(CLI::App& command, ExperimentOptions& options) {
  const CLI::Validator part = NumberWithin(1e-6, 1);
  command
      .add_option("--scale", options.scale.data,
                  "The part of training examples, test examples and time")
      ->check(part)
      ->capture_default_str();
  command
      .add_option("--time", options.scale.time,
                  "The part of the time, or of the rounds, on top of --scale")
      ->check(part)
      ->capture_default_str();
}

CLI::App* AddList(CLI::App& app, Options& options) {
  CLI::App* list = app.add_subcommand("list", "The tables, and what is done of them");
  list->footer("Example:\n  metis experiment list");
  AddPlaces(*list, options.experiment);
  return list;
}

CLI::App* AddShow(CLI::App& app, Options& options) {
  ExperimentOptions& experiment = options.experiment;
  CLI::App* show = app.add_subcommand(
      "show", "Print the complete configuration of a cell, for `metis simulate` or to look at");
  show->footer(
      "Example:\n"
      "  metis experiment show cifar10-heterogeneous powerlaw-iid async-dvw --scale 0.1");
  show->add_option("TABLE", experiment.table, "A table of `metis experiment list`")->required();
  show->add_option("ROW", experiment.rows, "One of its rows")->required();
  show->add_option("POLICY", experiment.columns, "One of its columns")->required();
  AddScale(*show, experiment);
  AddExperiments(*show, experiment);
  return show;
}

CLI::App* AddRun(CLI::App& app, Options& options) {
  ExperimentOptions& experiment = options.experiment;
  CLI::App* run = app.add_subcommand(
      "run",
      "Run the cells of a table that are not done yet, then print it. An interrupted command\n"
      "goes on when it is given again.");
  run->footer(
      "Examples:\n"
      "  metis experiment run cifar10-heterogeneous --rows powerlaw --scale 0.1 --time 0.1\n"
      "  metis experiment run cifar10-homogeneous --columns sync-dvw --seeds 3 --jobs 2\n"
      "  metis experiment run emnist-heterogeneous --dry-run\n"
      "  metis experiment run cache --models resnet-cifar:20,resnet-cifar:56 --learners 10,100");
  run->add_option("TABLE", experiment.table, "A table of `metis experiment list`, or cache")
      ->required();
  run->add_option("--rows", experiment.rows, "Only rows that begin so: powerlaw,uniform-iid");
  run->add_option("--columns", experiment.columns, "Only these policies: async-dvw,fedasync");
  AddScale(*run, experiment);
  run->add_option("--seeds", experiment.seeds, "Seeds: the configured one, +1, +2, ...")
      ->transform(WholeWithin(1, 1000))
      ->capture_default_str();
  run->add_option("--jobs", experiment.jobs, "Runs at once")
      ->transform(WholeWithin(1, 1024))
      ->capture_default_str();
  run->add_option("--threads", experiment.threads, "Threads of each run; default: cores / jobs")
      ->transform(WholeWithin(1, 1024));
  AddPlaces(*run, experiment);
  run->add_option("--data-dir", experiment.data_directory,
                  "Where known data sets are kept, as of `metis simulate`");
  run->add_flag("--dry-run", experiment.dry_run, "Print the commands instead of running them");
  run->add_option("--models", options.cache.models, "Of cache: networks, by name, for CIFAR-100")
      ->capture_default_str();
  run->add_option("--learners", options.cache.learners, "Of cache: how many learners")
      ->capture_default_str();
  run->add_option("--repetitions", options.cache.repetitions,
                  "Of cache: measurements of each, whose median counts")
      ->transform(WholeWithin(1, 1000))
      ->capture_default_str();
  return run;
}

void AddTable(CLI::App& app, Options& options) {
  CLI::App* table = app.add_subcommand("table", "Print a table from the runs that are there");
  table->footer(
      "Example:\n"
      "  metis experiment table cifar10-heterogeneous --scale 0.1 --time 0.1 --markdown");
  table->add_option("TABLE", options.experiment.table, "A table of `metis experiment list`")
      ->required();
  AddScale(*table, options.experiment);
  AddPlaces(*table, options.experiment);
  CLI::Option* json = table->add_flag("--json", options.json, "As JSON");
  CLI::Option* markdown = table->add_flag("--markdown", options.markdown, "As Markdown");
  table->add_flag("--csv", options.csv, "As CSV, a line for each cell")
      ->excludes(json)
      ->excludes(markdown);
  json->excludes(markdown);
}

// Options of a table mean nothing for the cache, and the other way round.
std::string Misplaced(const CLI::App& run, bool cache) {
  std::vector<std::string> names = {"--models", "--learners", "--repetitions"};
  if (cache) {
    names = {"--rows", "--columns", "--scale",       "--time",    "--seeds",
             "--jobs", "--threads", "--experiments", "--data-dir"};
  }
  for (const std::string& name : names) {
    if (run.count(name) > 0) return name;
  }
  return "";
}

int Run(const CLI::App& run, Options& options) {
  const bool cache = options.experiment.table == "cache";
  if (std::string name = Misplaced(run, cache); !name.empty()) {
    return Complain(Text(name,
                         cache ? " is an option of tables, not of cache"
                               : " is an option of cache, not of tables",
                         "\nSee `metis experiment run --help`."),
                    kUsage);
  }
  if (!cache) return RunTable(options.experiment);
  options.cache.out = options.experiment.out;
  options.cache.dry_run = options.experiment.dry_run;
  return RunCacheFigure(options.cache);
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "The paper's evaluation: one file and one command for each table,\n"
      "measured accuracies beside the paper's own.",
      "metis experiment");
  app.footer(
      "Examples:\n"
      "  metis experiment list\n"
      "  metis experiment run cifar10-heterogeneous --rows powerlaw --scale 0.1 --time 0.1\n"
      "  metis experiment table cifar10-heterogeneous --scale 0.1 --time 0.1");
  app.require_subcommand(1);
  AddVersionOption(app);
  CLI::App* list = AddList(app, options);
  CLI::App* show = AddShow(app, options);
  CLI::App* run = AddRun(app, options);
  AddTable(app, options);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (list->parsed()) return ListTables(options.experiment);
  if (show->parsed()) return ShowCell(options.experiment);
  if (run->parsed()) return Run(*run, options);
  options.experiment.form = options.json       ? TableForm::kJson
                            : options.markdown ? TableForm::kMarkdown
                            : options.csv      ? TableForm::kCsv
                                               : TableForm::kText;
  return ShowTable(options.experiment);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
