// metis-simulate: whole federations in virtual time, one row of a table for each policy.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/progress.h"
#include "apps/table.h"
#include "apps/user_directories.h"
#include "metis/config/config.h"
#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"
#include "metis/simulation/simulated_run.h"
#include "metis/simulation/simulation_directory.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

using simulation::RunOptions;
using simulation::RunOutcome;

// Set by Ctrl-C: the run ends where it is, and what was reached is kept.
std::atomic<bool> interrupted{false};

struct Options {
  RunOptions run{.data_directory = DefaultDataDirectory(),
                 .threads = std::max(1U, std::thread::hardware_concurrency())};
  std::string file;
  std::string policies;
  std::string out = "runs/simulate";
  std::string resume;  // a run directory; instead of everything that says what to run
  std::vector<std::string> assignments;
  std::vector<config::Assignment> overrides;
  std::optional<double> slowdown;
  bool no_journal = false;
  bool json = false;
};

// Flags that are shorthands for keys of the configuration.
struct Shorthand {
  const char* flag;
  const char* key;
  const char* help;
};
constexpr Shorthand kShorthands[] = {
    {"--seed", "federation.seed", "Seed of every random draw"},
    {"--dataset", "data.dataset", "builtin, a name of `metis data list`, or a file"},
    {"--model", "training.model", "auto, mnist-cnn, cifar10-cnn, mlp:A,B, torchscript:FILE, ..."},
    {"--precision", "training.precision", "fp32, bf16, or auto: bf16 on a CPU with AMX, else fp32"},
    {"--examples", "data.examples", "Training examples to deal, each class in proportion"},
    {"--faulty", "data.faulty", "Learners with wrong labels: 0:labels=random, 3:labels=noise:0.3"},
    {"--test-examples", "data.test_examples", "Test examples to use, each class in proportion"},
    {"--learners", "federation.learners", "Number of learners"},
    {"--slow", "group.slow.learners", "How many of them are slow"},
    {"--duration", "stop.duration", "Virtual time to run for, e.g. 4h"},
    {"--rounds", "stop.rounds", "Rounds to run for (synchronous policies)"},
    {"--sizes", "data.sizes", "uniform, skewed, powerlaw[:EXPONENT]"},
    {"--classes", "data.classes", "iid, noniid:X, noniid:8x1,4x1,3x8, dirichlet:ALPHA, table:FILE"},
};

Result<std::vector<std::string>> Policies(const std::string& text) {
  std::vector<std::string> all(std::begin(policy::kPolicyNames), std::end(policy::kPolicyNames));
  if (text == "all") return all;
  std::vector<std::string> chosen;
  for (std::string_view rest = text; !rest.empty();) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string name(rest.substr(0, comma));
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) {
      return Invalid(Text("--policy names ", name, " twice: each runs once"));
    }
    if (!policy::PolicyNamed(name)) {
      std::string nearest = Nearest(name, all);
      return Invalid(Text("--policy \"", name, "\": must be \"all\" or some of ", Join(all),
                          nearest.empty() ? "" : Text("; did you mean ", nearest, "?")));
    }
    chosen.push_back(std::move(name));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return chosen;
}

Result<config::Config> Parse(const Options& options,
                             const std::vector<config::Assignment>& overrides) {
  if (options.file.empty()) return config::ParseConfig("", "defaults", overrides);
  return config::ReadConfig(options.file, overrides);
}

constexpr Duration kTooLong = Duration::Forever();

// A slow machine takes so many times as long as one of the first other group.
Result<void> SlowDown(const config::Config& config, double slowdown,
                      std::vector<config::Assignment>& overrides) {
  for (const sim::DeviceGroup& group : config.simulation.groups) {
    if (group.name == "slow") continue;
    // What is too long for a Duration is too long for a batch, which the configuration says.
    const double taken = std::min(slowdown * group.batch_time.seconds(), kTooLong.seconds());
    overrides.push_back({"group.slow.batch_time", Text(Duration::FromSeconds(taken)),
                         Text("--slowdown ", slowdown)});
    return {};
  }
  return Invalid("--slowdown: there is no group that \"slow\" could be compared with");
}

Result<config::Config> Configure(const Options& options, const std::string& policy) {
  std::vector<config::Assignment> overrides = options.overrides;
  if (!policy.empty()) overrides.push_back({"federation.policy", policy, "--policy"});
  Result<config::Config> config = Parse(options, overrides);
  if (config && options.slowdown) {
    if (Result<void> slow = SlowDown(*config, *options.slowdown, overrides); !slow) {
      return slow.error();
    }
    config = Parse(options, overrides);
  }
  if (!config) return config;
  if (Result<void> read = data::ReadTable(config->data); !read) return read.error();
  return config;
}

void PrintTable(const std::vector<report::Json>& summaries) {
  Table table({{"policy"},
               {"time", Align::kRight},
               {"versions", Align::kRight},
               {"requests", Align::kRight},
               {"refused", Align::kRight},
               {"models", Align::kRight},
               {"evaluated", Align::kRight},
               {"accuracy", Align::kRight},
               {"best", Align::kRight},
               {"stopped by"}});
  auto number = [](const report::Json& json) { return Text(json.get<uint64_t>()); };
  for (const report::Json& run : summaries) {
    table.AddRow(
        {run["policy"].get<std::string>(), Text(Fixed(run["length_s"].get<double>(), 0), " s"),
         number(run["version"]), number(run["update_requests"]), number(run["updates_rejected"]),
         number(run["models_exchanged"]), number(run["models_for_evaluation"]),
         Fixed(run["accuracy"]["final"].get<double>(), 4),
         Fixed(run["accuracy"]["best"].get<double>(), 4),
         run["stopped_by"].is_null() ? "interrupted" : run["stopped_by"].get<std::string>()});
  }
  table.Print(std::cout, OutputIsTerminal());
}

// Which faults struck, and how often; nothing of a run without.
void PrintFaults(const report::Json& run) {
  if (!run.contains("faults_struck")) return;
  std::vector<std::string> struck;
  for (const auto& [name, times] : run["faults_struck"].items()) {
    if (times != 0) struck.push_back(Text(name, " ", times.get<uint64_t>()));
  }
  std::cout << "\nFaults that struck " << run["policy"].get<std::string>() << ": "
            << (struck.empty() ? "none" : Join(struck)) << "\n";
}

// What was trained, how fast, and what to do next.
void PrintClosing(const std::vector<RunOutcome>& outcomes, const std::string& where) {
  uint64_t examples = 0;
  double seconds = 0;
  for (const RunOutcome& outcome : outcomes) {
    examples += outcome.examples;
    seconds += outcome.seconds;
  }
  if (examples > 0) {
    std::cout << "\nTrained " << examples << " examples in " << FormatSeconds(seconds) << ": "
              << Fixed(static_cast<double>(examples) / std::max(seconds, 1e-3), 0) << " a second.";
  }
  std::cout << "\nRecorded in " << where << "; `metis compare` and `metis report` read it.\n";
}

void PrintOutcomes(const Options& options, const std::vector<RunOutcome>& outcomes,
                   const std::string& where) {
  std::vector<report::Json> summaries;
  for (const RunOutcome& outcome : outcomes) summaries.push_back(outcome.summary);
  if (options.json) {
    std::cout << report::Json(summaries).dump(2) << "\n";
  } else {
    PrintTable(summaries);
    for (const report::Json& summary : summaries) PrintFaults(summary);
    PrintClosing(outcomes, where);
  }
}

int Print(const Options& options, const std::vector<RunOutcome>& outcomes, const std::string& where,
          const std::string& last_directory) {
  PrintOutcomes(options, outcomes, where);
  if (!interrupted) return Finish();
  std::cerr << "metis: interrupted"
            << (!outcomes.empty() && outcomes.back().resumable
                    ? Text("; metis simulate --resume ", last_directory, " goes on")
                    : std::string())
            << "\n";
  return Finish(kFailed);
}

int Resume(const Options& options) {
  Console console;
  Result<RunOutcome> outcome =
      simulation::ResumeSimulation(options.run, options.resume, console, interrupted);
  if (!outcome) return Complain(outcome.error().message);
  if (outcome->examples == 0 && outcome->summary.value("complete", false) && !options.json) {
    std::cerr << "metis: " << options.resume << " is complete\n";
  }
  return Print(options, {*outcome}, options.resume, options.resume);
}

int Simulate(const Options& options) {
  Result<std::vector<std::string>> policies = Policies(options.policies);
  if (!policies) return Complain(policies.error().message, kUsage);
  if (policies->empty()) policies->push_back("");
  if (policies->size() > 1) {
    Result<void> free = simulation::CheckDirectoryOfRuns(options.out);
    if (!free) return Complain(free.error().message);
  }
  std::vector<config::Config> configs;  // all checked before the first runs, as their directories
  std::vector<std::string> directories;
  for (const std::string& policy : *policies) {
    Result<config::Config> config = Configure(options, policy);
    if (!config) return Complain(config.error().message);
    configs.push_back(*std::move(config));
    directories.push_back(policies->size() > 1 ? Text(options.out, "/", policy) : options.out);
    Result<void> free =
        simulation::CheckSimulationDirectory(directories.back(), options.run.replace);
    if (!free) return Complain(free.error().message);
  }
  if (configs.front().source.dataset != data::kBuiltinData) {
    const std::string warning = train::PrecisionWarning(configs.front().training.precision);
    if (!warning.empty()) std::cerr << "metis: " << warning << "\n";
  }
  Console console;
  std::vector<RunOutcome> outcomes;
  std::string directory = options.out;
  for (size_t i = 0; i < configs.size() && !interrupted; ++i) {
    directory = directories[i];
    Result<RunOutcome> outcome =
        simulation::RunSimulation(options.run, configs[i], directory, console, interrupted);
    if (!outcome) {
      if (!outcomes.empty()) PrintOutcomes(options, outcomes, options.out);
      std::cout.flush();
      return Complain(outcome.error().message);
    }
    outcomes.push_back(*std::move(outcome));
  }
  return Print(options, outcomes, options.out, directory);
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "Runs whole federations in virtual time: the real controller and learner code, with\n"
      "simulated clocks, machines and links. Without a file the defaults run.",
      "metis simulate");
  app.footer(
      "Examples:\n"
      "  metis simulate --policy all --out runs/tryout\n"
      "  metis simulate --dataset fashion-mnist --policy sync-fedavg,sync-dvw --rounds 10 \\\n"
      "    --sizes powerlaw --faulty 0:labels=random --out runs/faulty\n"
      "  metis simulate --dataset cifar10 --policy async-dvw --sizes powerlaw --classes noniid:3 "
      "\\\n"
      "    --learners 10 --slow 5 --slowdown 10 --duration 4h --out runs/long\n"
      "  metis simulate --resume runs/long\n"
      "  metis simulate federation.toml --policy async-dvw --seed 7 --sizes powerlaw\n"
      "  metis simulate --set group.slow.batch_time=2s --set validation.metric=matthews\n"
      "  metis simulate --policy sync-dvw --faults --seed 42 --force");
  app.add_option("FILE", options.file, "Configuration (see `metis init`); default: none");
  app.add_option("--policy", options.policies,
                 "A policy, several separated by commas, or all; default: the file's");
  app.add_option("--out", options.out, "Run directory; one below it for each of several policies")
      ->capture_default_str();
  CLI::Option* resume = app.add_option(
      "--resume", options.resume, "Go on with an interrupted or killed run, as if it had not been");
  app.add_option("--record", options.run.record,
                 "replayable: keep the model of every update, for `metis replay`; light: don't; "
                 "auto: replayable with built-in data")
      ->check(CLI::IsMember({"auto", "replayable", "light"}))
      ->capture_default_str();
  std::vector<std::string> values(std::size(kShorthands));
  for (size_t i = 0; i < std::size(kShorthands); ++i) {
    app.add_option(kShorthands[i].flag, values[i],
                   Text(kShorthands[i].help, " (", kShorthands[i].key, ")"));
  }
  std::string trainer;
  app.add_option("--trainer", trainer, "builtin: the built-in task, as --dataset builtin")
      ->check([](const std::string& name) {
        if (name == data::kBuiltinData) return std::string();
        return Text("\"", name, "\": the one trainer with a name is builtin; a network is trained ",
                    "with --dataset, e.g. --dataset fashion-mnist");
      })
      ->excludes("--dataset");
  app.add_option("--set", options.assignments, "Any key of the configuration: section.key=value")
      ->allow_extra_args(false);
  app.add_option("--slowdown", options.slowdown,
                 "How many times as long a slow machine takes (group.slow.batch_time)")
      ->check(NumberWithin(0.001, 1e6));
  AddDataDirectoryOption(app, options.run.data_directory);
  app.add_option("--threads", options.run.threads,
                 "Threads that train and evaluate; the run is the same with any")
      ->transform(WholeWithin(1, 1024))
      ->capture_default_str();
  app.add_flag("--faults", options.run.faults,
               "Inject faults drawn from the seed, check every law after every event");
  app.add_flag("--force", options.run.replace, "Replace the runs that --out holds");
  app.add_flag("--no-journal", options.no_journal,
               "Keep no work: saves space on the disk, but the run cannot be resumed");
  app.add_flag("--json", options.json, "Print the summaries as JSON instead of a table");
  AddVersionOption(app);
  // Only these go with a run that is resumed: the rest is its own.
  for (CLI::Option* option : app.get_options()) {
    option->check(NotEmpty());
    const std::string name = option->get_name();
    const bool goes = name == "--resume" || name == "--help" || name == "--version" ||
                      name == "--threads" || name == "--data-dir" || name == "--json";
    if (!goes) resume->excludes(option);
  }
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  options.run.names_data_directory = options.run.data_directory != DefaultDataDirectory();
  options.run.keep_work = !options.no_journal;
  for (size_t i = 0; i < std::size(kShorthands); ++i) {
    if (values[i].empty()) continue;
    if (kShorthands[i].flag == std::string_view("--precision") && values[i] == "auto") {
      const bool bf16 = train::FastestPrecision() == learner::Precision::kBf16;
      values[i] = bf16 ? "bf16" : "fp32";
    }
    options.overrides.push_back({kShorthands[i].key, values[i], kShorthands[i].flag});
  }
  if (!trainer.empty()) options.overrides.push_back({"data.dataset", trainer, "--trainer"});
  for (const std::string& text : options.assignments) {
    Result<config::Assignment> assignment = config::ParseAssignment(text);
    if (!assignment) return Complain(assignment.error().message, kUsage);
    options.overrides.push_back(*std::move(assignment));
  }
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = true; });
  train::KeepFreedMemory();
  return options.resume.empty() ? Simulate(options) : Resume(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
