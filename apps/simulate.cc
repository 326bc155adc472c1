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
#include "apps/kept_models.h"
#include "apps/load_data.h"
#include "apps/model_facts.h"
#include "apps/progress.h"
#include "apps/table.h"
#include "apps/torch_workload.h"
#include "metis/config/config.h"
#include "metis/core/text.h"
#include "metis/report/run_directory.h"
#include "metis/sim/builtin_workload.h"
#include "metis/sim/invariants.h"
#include "metis/sim/simulator.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

// Set by Ctrl-C: the run ends where it is, and what was reached is kept.
std::atomic<bool> interrupted{false};

struct Options {
  std::string file;
  std::string data_directory = DefaultDataDirectory();
  uint32_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::string policies;
  std::string out = "runs/simulate";
  std::string record = "auto";
  std::vector<std::string> assignments;
  std::vector<config::Assignment> overrides;
  bool faults = false;
  bool force = false;
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
    {"--precision", "training.precision", "fp32 or bf16"},
    {"--examples", "data.examples", "Training examples to deal, each class in proportion"},
    {"--faulty", "data.faulty", "Learners with wrong labels: 0:labels=random, 3:labels=noise:0.3"},
    {"--learners", "federation.learners", "Number of learners"},
    {"--duration", "stop.duration", "Virtual time to run for, e.g. 4h"},
    {"--rounds", "stop.rounds", "Rounds to run for (synchronous policies)"},
    {"--sizes", "data.sizes", "uniform, skewed, powerlaw[:EXPONENT]"},
    {"--classes", "data.classes", "iid, noniid:X, noniid:8x1,4x1,3x8, dirichlet:ALPHA, table:FILE"},
};

Result<std::vector<std::string>> Policies(const std::string& text) {
  std::vector<std::string> all(std::begin(federation::kPolicyNames),
                               std::end(federation::kPolicyNames));
  if (text == "all") return all;
  std::vector<std::string> chosen;
  for (std::string_view rest = text; !rest.empty();) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string name(rest.substr(0, comma));
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) {
      return Invalid(Text("--policy names ", name, " twice: each runs once"));
    }
    if (!federation::PolicyNamed(name)) {
      std::string nearest = Nearest(name, all);
      return Invalid(Text("--policy \"", name, "\": must be \"all\" or some of ", Join(all),
                          nearest.empty() ? "" : Text("; did you mean ", nearest, "?")));
    }
    chosen.push_back(std::move(name));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return chosen;
}

Result<config::Config> Configure(const Options& options, const std::string& policy) {
  std::vector<config::Assignment> overrides = options.overrides;
  if (!policy.empty()) overrides.push_back({"federation.policy", policy, "--policy"});
  Result<config::Config> config = options.file.empty()
                                      ? config::ParseConfig("", "defaults", overrides)
                                      : config::ReadConfig(options.file, overrides);
  if (!config) return config;
  if (Result<void> read = data::ReadTable(config->data); !read) return read.error();
  return config;
}

// How far the run is, by whichever criterion is nearest to its end.
double PartDone(const federation::StopSettings& stop, const sim::Simulator& simulator) {
  const federation::Statistics& counts = simulator.controller().statistics();
  double part = 0;
  if (stop.duration) part = simulator.now().seconds() / stop.duration->seconds();
  if (stop.rounds) {
    part = std::max(part, static_cast<double>(counts.commits) / static_cast<double>(*stop.rounds));
  }
  if (stop.requests) {
    part =
        std::max(part, static_cast<double>(counts.requests) / static_cast<double>(*stop.requests));
  }
  return part;
}

// Until the run ends by its stop criteria, or by Ctrl-C.
void RunWithProgress(const federation::StopSettings& stop, const std::string& label,
                     sim::Simulator& simulator) {
  Progress progress(label);
  // A little more time lets the last timer fire.
  const Duration limit = stop.duration.value_or(Duration::Forever());
  simulator.Run(Instant() + limit + Duration::Hours(1), [&](Instant now) {
    const federation::Controller& controller = simulator.controller();
    progress.Update(PartDone(stop, simulator),
                    Text(Fixed(now.seconds(), 0), " s, version ", controller.version(),
                         ", accuracy ", Fixed(controller.tests().latest_accuracy(), 3)));
    return !interrupted;
  });
}

// Real networks are large and their updates many: their models are kept only when asked for.
report::Record RecordOf(const Options& options, const config::Config& config) {
  const bool builtin = config.source.dataset == data::kBuiltinData;
  const bool light = options.record == "light" || (options.record == "auto" && !builtin);
  return light ? report::Record::kLight : report::Record::kReplayable;
}

// What is learned, and what its models' files say of themselves.
struct Task {
  std::unique_ptr<sim::Workload> workload;
  store::ModelFacts facts;
};

Result<Task> MakeTask(const Options& options, const config::Config& config) {
  if (config.source.dataset == data::kBuiltinData) {
    auto made = sim::BuiltinWorkload::Create(
        config.simulation.builtin, config.data, config.training,
        config.federation.membership.learners,
        federation::NeedsValidationSet(config.federation.policy), config.simulation.seed);
    if (!made) return made.error();
    return Task{*std::move(made), {{"dataset", config.source.dataset}}};
  }
  Result<std::unique_ptr<TorchWorkload>> made =
      TorchWorkload::Create(config, options.data_directory);
  if (!made) return made.error();
  store::ModelFacts facts = FactsOf((*made)->architecture().settings(), std::nullopt);
  facts["dataset"] = config.source.dataset;
  return Task{*std::move(made), std::move(facts)};
}

// One federation from start to end, recorded in `directory`.
Result<report::Json> RunOne(const Options& options, const config::Config& config,
                            const std::string& directory) {
  const std::string policy(federation::NameOf(config.federation.policy));
  const uint64_t seed = config.simulation.seed;
  Result<Task> task = MakeTask(options, config);
  if (!task) return task.error();
  const sim::Workload& workload = *task->workload;
  Result<std::unique_ptr<report::RunWriter>> writer =
      report::RunWriter::Create(directory, config::FormatConfig(config), workload.initial(),
                                options.force, RecordOf(options, config));
  if (!writer) return writer.error();

  sim::FaultRates faults;
  if (options.faults) faults = sim::DrawFaultRates(seed);
  sim::Simulator simulator({.federation = config.federation,
                            .simulation = config.simulation,
                            .workload = workload,
                            .faults = faults,
                            .equal_sizes = data::AsksEqualSizes(config.data),
                            .threads = options.threads});
  KeptModels kept(**writer);
  simulator.SetRecorder(&kept);
  sim::Invariants invariants(config.federation, workload.initial(), workload.pool());
  if (options.faults) simulator.SetInvariants(&invariants);
  RunWithProgress(config.federation.stop, policy, simulator);
  if (simulator.failure()) {
    return simulator.failure()->In(Text("after ", simulator.now() - Instant()));
  }
  if (invariants.violation()) {
    return Invalid(Text("a law was broken ", *invariants.violation(), " (seed ", seed,
                        "; the record is in ", directory, ")"));
  }
  const federation::Controller& controller = simulator.controller();
  report::RunFacts facts{.program_version = std::string(Version()),
                         .policy = policy,
                         .seed = seed,
                         .length = simulator.now() - Instant(),
                         .bytes_sent = simulator.bytes_sent(),
                         .complete = controller.phase() == federation::Phase::kFinished,
                         .faults = options.faults};
  task->facts["policy"] = policy;
  task->facts["seed"] = Text(seed);
  Result<void> finished =
      kept.Write(directory, task->facts, controller.community(), controller.version());
  if (finished) finished = (*writer)->Finish(facts, controller);
  if (!finished) return finished.error();
  return report::FormatSummary(facts, controller, (*writer)->summary());
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

int Simulate(const Options& options) {
  Result<std::vector<std::string>> policies = Policies(options.policies);
  if (!policies) return Complain(policies.error().message, kUsage);
  if (policies->empty()) policies->push_back("");
  std::vector<config::Config> configs;  // all checked before the first runs
  for (const std::string& policy : *policies) {
    Result<config::Config> config = Configure(options, policy);
    if (!config) return Complain(config.error().message);
    configs.push_back(*std::move(config));
  }
  std::vector<report::Json> summaries;
  for (size_t i = 0; i < configs.size() && !interrupted; ++i) {
    std::string directory =
        configs.size() == 1 ? options.out : Text(options.out, "/", (*policies)[i]);
    Result<report::Json> summary = RunOne(options, configs[i], directory);
    if (!summary) return Complain(summary.error().message);
    summaries.push_back(*std::move(summary));
  }
  if (options.json) {
    std::cout << report::Json(summaries).dump(2) << "\n";
  } else {
    PrintTable(summaries);
    std::cout << "\nSeed " << configs[0].simulation.seed << ". Recorded in " << options.out
              << (configs.size() == 1 ? "" : "/POLICY")
              << "; `metis replay` runs a record again.\n";
  }
  return Finish(interrupted ? kFailed : kOk);
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "Runs whole federations in virtual time: the real controller and learner code, with\n"
      "simulated clocks, machines and links. Without a file the defaults run.",
      "metis simulate");
  app.footer(
      "Examples:\n"
      "  metis simulate --policy all --out runs/first\n"
      "  metis simulate --dataset fashion-mnist --policy sync-fedavg,sync-dvw --rounds 10 \\\n"
      "    --sizes powerlaw --faulty 0:labels=random --out runs/faulty\n"
      "  metis simulate federation.toml --policy async-dvw --seed 7 --sizes powerlaw\n"
      "  metis simulate --set group.slow.batch_time=2s --set validation.metric=matthews\n"
      "  metis simulate --policy sync-dvw --faults --seed 42 --force");
  app.add_option("FILE", options.file, "Configuration (see `metis init`); default: none");
  app.add_option("--policy", options.policies,
                 "A policy, several separated by commas, or all; default: the file's");
  app.add_option("--out", options.out, "Run directory; one below it for each of several policies")
      ->capture_default_str();
  app.add_option("--record", options.record,
                 "replayable: keep the model of every update, for `metis replay`; light: don't; "
                 "auto: replayable with built-in data")
      ->check(CLI::IsMember({"auto", "replayable", "light"}))
      ->capture_default_str();
  std::vector<std::string> values(std::size(kShorthands));
  for (size_t i = 0; i < std::size(kShorthands); ++i) {
    app.add_option(kShorthands[i].flag, values[i],
                   Text(kShorthands[i].help, " (", kShorthands[i].key, ")"));
  }
  app.add_option("--set", options.assignments, "Any key of the configuration: section.key=value")
      ->allow_extra_args(false);
  AddDataDirectoryOption(app, options.data_directory);
  app.add_option("--threads", options.threads, "Threads that train; the run is the same with any")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_flag("--faults", options.faults,
               "Inject faults drawn from the seed, check every law after every event");
  app.add_flag("--force", options.force, "Replace the runs that --out holds");
  app.add_flag("--json", options.json, "Print the summaries as JSON instead of a table");
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  for (size_t i = 0; i < std::size(kShorthands); ++i) {
    if (values[i].empty()) continue;
    options.overrides.push_back({kShorthands[i].key, values[i], kShorthands[i].flag});
  }
  for (const std::string& text : options.assignments) {
    Result<config::Assignment> assignment = config::ParseAssignment(text);
    if (!assignment) return Complain(assignment.error().message, kUsage);
    options.overrides.push_back(*std::move(assignment));
  }
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = true; });
  train::KeepFreedMemory();
  return Simulate(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
