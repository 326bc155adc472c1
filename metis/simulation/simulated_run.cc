#include "metis/simulation/simulated_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "metis/core/display.h"
#include "metis/core/enum_name.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/machine/disk.h"
#include "metis/policy/policy.h"
#include "metis/report/part_done.h"
#include "metis/report/run_directory.h"
#include "metis/sim/laws.h"
#include "metis/sim/simulator.h"
#include "metis/simulation/run_forecast.h"
#include "metis/simulation/simulation_directory.h"
#include "metis/simulation/simulation_task.h"
#include "metis/store/kept_models.h"
#include "metis/work/journal.h"

namespace metis::simulation {
namespace {

using std::chrono::steady_clock;

constexpr const char* kWorkFile = "work.bin";
constexpr const char* kPartitionFile = "partition.json";

// Real networks are large and their updates many: their models are kept only when asked for.
report::Record RecordOf(const RunOptions& options, const config::Config& config) {
  const bool builtin = config.source.dataset == data::kBuiltinData;
  const bool light = options.record == "light" || (options.record == "auto" && !builtin);
  return light ? report::Record::kLight : report::Record::kReplayable;
}

// Who holds what, for the record: partition.json.
std::string PartitionJson(const Task& task, const config::Config& config,
                          const sim::Simulator& simulator) {
  report::Json json;
  json["dataset"] = config.source.dataset;
  auto architecture = task.facts.find("architecture");
  json["model"] = architecture == task.facts.end() ? "softmax" : architecture->second;
  json["classes"] = task.workload->class_counts(LearnerId(0)).size();
  json["learners"] = report::Json::array();
  for (uint32_t k = 0; k < task.workload->learners(); ++k) {
    report::Json learner{{"learner", k},
                         {"group", simulator.group(k).name},
                         {"class_counts", task.workload->class_counts(LearnerId(k))},
                         {"faulty", nullptr}};
    for (const data::FaultyLabels& faulty : config.source.faulty) {
      if (faulty.learner != k) continue;
      const std::string text = data::FormatFaultyList({faulty});
      learner["faulty"] = text.substr(text.find(':') + 1);
    }
    json["learners"].push_back(std::move(learner));
  }
  return json.dump() + "\n";
}

// --- What a run keeps of its work

// How a run was begun and what it read: the journal's identity. Work on other data is other work.
std::string IdentityOf(const RunOptions& options, const std::string& config_toml,
                       const Task& task) {
  return report::Json{{"metis", ProgramVersion()},
                      {"config", Hex(Fingerprint(config_toml))},
                      {"initial", Hex(task.workload->initial()->Fingerprint())},
                      {"read", task.read},
                      {"record", options.record},
                      {"faults", options.faults}}
      .dump();
}

// With the options that config.toml does not hold, as far as they are known.
std::string StartAnew(const RunOptions& options, const std::string& directory) {
  const std::string config = Text(directory, "/", report::kConfigFile);
  std::error_code error;
  const bool kept = std::filesystem::exists(config, error);
  std::string command =
      Text("start the run anew with ",
           kept ? Text("metis simulate ", config) : "`metis simulate`, its configuration and",
           " --out ", directory, " --force");
  if (options.faults) command += " --faults";
  if (options.record != RunOptions().record) command += Text(" --record ", options.record);
  if (options.names_data_directory) command += Text(" --data-dir ", options.data_directory);
  return command;
}

// Bytes of models that the simulated controller's log may hold beside those of its latest snapshot:
// no more than the learners hold themselves, but enough that small models cost few snapshots.
uint64_t LogBudget(const config::Config& config, const Model& model) {
  constexpr uint64_t kLeast = 64 << 20;
  return std::max(kLeast, 2 * config.federation.membership.learners * model.bytes().size());
}

// Refuses a record that will not fit; gives up keeping work that will not.
Result<void> CheckSpace(const config::Config& config, const learner::Workload& workload,
                        const std::string& directory, report::Record record, Narrator& narrator,
                        bool& keep_work) {
  const std::optional<uint64_t> updates = ForecastUpdates(config, workload);
  const Result<uint64_t> space = machine::FreeSpace(directory);
  if (!updates || !space) return {};
  const uint64_t models = *updates * workload.initial()->bytes().size();
  const std::string about =
      Text("about ", *updates, " updates of ", FormatBytes(workload.initial()->bytes().size()));
  const bool replayable = record == report::Record::kReplayable;
  if (replayable && models > *space) {
    return Invalid(Text(directory, " has ", FormatBytes(*space),
                        " of space, a replayable record of ", about, " needs ", FormatBytes(models),
                        ": choose --record light, or another --out"));
  }
  constexpr uint64_t kWorthSaying = 500'000'000;
  if (replayable && models > kWorthSaying) {
    narrator.Warn(Text(about, ": the record will take ", FormatBytes(models)));
  }
  // With each update's model, the weights and the momentum that outlive it, if they do.
  const bool keeps_state = workload.MakeTrainer(LearnerId(0))->keeps_state();
  if (keep_work && ((replayable ? 2 : 1) + (keeps_state ? 2 : 0)) * models > *space) {
    keep_work = false;
    narrator.Warn(Text(directory, " has ", FormatBytes(*space), " of space, ", about, " need ",
                       FormatBytes(models),
                       ": the work is not kept, an interrupted run cannot be resumed"));
  }
  return {};
}

// --- Progress

double SecondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

// What there is to say of a run under way. Time is counted from the first work that was not found
// in the journal.
class Account {
 public:
  std::string Details(double part, const sim::Simulator& simulator) {
    const federation::Controller& controller = simulator.controller();
    std::string text =
        Text(Fixed(simulator.now().seconds(), 0), " s, version ", controller.version(),
             ", accuracy ", Fixed(controller.tests().latest_accuracy(), 3), ", ",
             controller.statistics().requests, " requests");
    if (simulator.examples_trained() == 0) {
      start_ = steady_clock::now();
      part_at_start_ = part;
      return text;
    }
    const double seconds = SecondsSince(start_);
    if (seconds < 1 || part <= part_at_start_) return text;
    const double rate = static_cast<double>(simulator.examples_trained()) / seconds;
    const double left = seconds * (1 - part) / (part - part_at_start_);
    return Text(text, ", ", Fixed(rate, 0), " images/s, ", FormatSeconds(left), " left");
  }

 private:
  steady_clock::time_point start_ = steady_clock::now();
  double part_at_start_ = 0;
};

// Until the run ends by its stop criteria, by Ctrl-C, or with an error when its record can no
// longer be written: hours of work after that would be for nothing.
Result<void> RunWithProgress(Instant horizon, const std::string& label, sim::Simulator& simulator,
                             report::RunWriter& writer, Narrator& narrator,
                             const std::atomic<bool>& interrupted) {
  narrator.Begin(label);
  Account account;
  Result<void> recorded;
  simulator.Run(horizon, [&](Instant) {
    const double part = report::PartDone(simulator.controller(), simulator.now());
    narrator.Update(part, [&] { return account.Details(part, simulator); });
    recorded = writer.Ready();
    return recorded.ok() && !interrupted;
  });
  narrator.End();
  return recorded;
}

// --- The run

// A run that can start: its directory is made, and nobody else's.
struct Begun {
  std::unique_ptr<DirectoryLock> lock;
  Task task;
  std::unique_ptr<report::RunWriter> writer;
  std::unique_ptr<work::WorkJournal> journal;  // null: no work is kept
};

// What an earlier start left, in a directory that is ours; nothing for a new run.
struct Earlier {
  std::unique_ptr<DirectoryLock> lock;
  std::unique_ptr<work::WorkJournal> journal;
};

Result<std::unique_ptr<DirectoryLock>> MakeDirectory(const RunOptions& options,
                                                     const std::string& directory) {
  Result<void> made = CheckSimulationDirectory(directory, options.replace);
  if (made) made = report::MakeRunDirectory(directory, report::kEventsFile, options.replace);
  if (!made) return made.error();
  return DirectoryLock::Take(directory);
}

Result<Begun> Begin(const RunOptions& options, const config::Config& config,
                    const std::string& directory, Earlier earlier, Narrator& narrator) {
  auto [lock, journal] = std::move(earlier);
  Result<Task> task = MakeTask(config, options.data_directory);
  if (!task) return task.error();
  const ModelPtr initial = task->workload->initial();
  const report::Record record = RecordOf(options, config);
  const std::string config_toml = config::FormatConfig(config);
  const std::string identity = IdentityOf(options, config_toml, *task);
  const std::string work_path = Text(directory, "/", kWorkFile);
  if (journal && journal->identity() != identity) {
    return Invalid(Text(work_path, " is work of another program version, configuration or data (",
                        journal->identity(), ", not ", identity, "): bring those back, or ",
                        StartAnew(options, directory)));
  }
  bool keep_work = options.keep_work;
  if (!journal) {
    Result<void> fits = CheckSpace(config, *task->workload, directory, record, narrator, keep_work);
    if (!fits) return fits.error();
    Result<std::unique_ptr<DirectoryLock>> ours = MakeDirectory(options, directory);
    if (!ours) return ours.error();
    lock = *std::move(ours);
  }
  Result<std::unique_ptr<report::RunWriter>> writer = report::RunWriter::Create(
      directory, config_toml, initial, options.replace || journal, record);
  if (!writer) return writer.error();
  if (!journal && keep_work) {
    Result<std::unique_ptr<work::WorkJournal>> made =
        work::WorkJournal::Create(work_path, identity);
    if (!made) return made.error();
    journal = *std::move(made);
  }
  std::error_code absent;
  if (!journal) std::filesystem::remove(work_path, absent);  // of a run that this one replaces
  return Begun{std::move(lock), *std::move(task), *std::move(writer), std::move(journal)};
}

std::map<std::string, uint64_t> StruckBy(const sim::Simulator& simulator) {
  const auto names = EnumNames(sim::Fault{});
  std::map<std::string, uint64_t> struck;
  for (size_t i = 0; i < names.size(); ++i) {
    struck.emplace(names[i], simulator.faults_struck()[i]);
  }
  return struck;
}

// Writes what the run came to.
Result<report::Json> Conclude(const RunOptions& options, const config::Config& config,
                              const std::string& directory, const sim::Simulator& simulator,
                              const store::KeptModels& kept, Begun& begun) {
  const federation::Controller& controller = simulator.controller();
  report::RunFacts facts{.program_version = std::string(ProgramVersion()),
                         .policy = std::string(policy::NameOf(config.federation.policy)),
                         .seed = config.simulation.seed,
                         .length = simulator.now() - Instant(),
                         .bytes_sent = simulator.bytes_sent(),
                         .complete = controller.phase() == federation::Phase::kFinished};
  if (options.faults) facts.faults = StruckBy(simulator);
  store::ModelFacts model_facts = begun.task.facts;
  model_facts["policy"] = facts.policy;
  model_facts["seed"] = Text(facts.seed);
  Result<void> finished =
      kept.Write(directory, model_facts, controller.community(), controller.version());
  if (finished) finished = begun.writer->Finish(facts, controller);
  if (!finished) return finished.error();
  return report::FormatSummary(facts, controller, begun.writer->summary());
}

// Where the disk is full: the work that was kept is not lost.
Error NotWritten(const Error& error, const RunOptions& options, const std::string& directory,
                 const Begun& begun) {
  const std::string way_on = begun.journal
                                 ? Text("`metis simulate --resume ", directory, "` goes on")
                                 : StartAnew(options, directory);
  return {error.code, Text(error.message, "; free space, then ", way_on)};
}

// Of a run that would go on for ever: to resume it would change nothing.
Error NotEnded(const config::Config& config, const sim::Simulator& simulator) {
  const federation::Controller& controller = simulator.controller();
  const federation::Phase phase = controller.phase();
  const std::string& reason = controller.phase_reason();
  return Invalid(Text("the federation had not ended after ", Horizon(config) - Instant(),
                      " of virtual time: it was ", NameOf(phase),
                      reason.empty() ? "" : Text(" (", reason, ")"), " at version ",
                      controller.version(),
                      "; set stop.duration, shorten latency in [group.NAME], or let federation.",
                      "start_with and federation.quorum wait for fewer learners"));
}

Result<RunOutcome> Conduct(const RunOptions& options, const config::Config& config,
                           const std::string& directory, Narrator& narrator,
                           const std::atomic<bool>& interrupted, Begun& begun) {
  const auto start = steady_clock::now();
  const learner::Workload& workload = *begun.task.workload;
  const uint64_t seed = config.simulation.seed;
  sim::FaultRates faults;
  if (options.faults) faults = sim::DrawFaultRates(seed);
  sim::Simulator simulator({.federation = config.federation,
                            .simulation = config.simulation,
                            .workload = workload,
                            .faults = faults,
                            .equal_sizes = data::AsksEqualSizes(config.data),
                            .snapshot_bytes = LogBudget(config, *workload.initial()),
                            .threads = options.threads,
                            .journal = begun.journal.get()});
  Result<void> wrote = report::WriteRunFile(std::filesystem::path(directory) / kPartitionFile,
                                            PartitionJson(begun.task, config, simulator));
  if (!wrote) return NotWritten(wrote.error(), options, directory, begun);
  store::KeptModels kept(*begun.writer);
  simulator.SetRecorder(&kept);
  sim::Laws laws(config.federation, workload.initial(), workload.pool());
  if (options.faults) simulator.SetLaws(&laws);
  const std::string policy(policy::NameOf(config.federation.policy));
  Result<void> recorded =
      RunWithProgress(Horizon(config), policy, simulator, *begun.writer, narrator, interrupted);
  if (simulator.failure()) {
    return simulator.failure()->In(Text("after ", simulator.now() - Instant()));
  }
  const std::optional<std::string>& broken =
      laws.violation() ? laws.violation() : simulator.violation();
  if (broken) {
    return Invalid(
        Text("a law was broken ", *broken, " (seed ", seed, "; the record is in ", directory, ")"));
  }
  if (!recorded) return NotWritten(recorded.error(), options, directory, begun);
  const bool finished = simulator.controller().phase() == federation::Phase::kFinished;
  if (!finished && !interrupted) return NotEnded(config, simulator);
  Result<report::Json> summary = Conclude(options, config, directory, simulator, kept, begun);
  if (!summary) return NotWritten(summary.error(), options, directory, begun);
  return RunOutcome{*std::move(summary), simulator.examples_trained(), SecondsSince(start), false};
}

Result<RunOutcome> Run(const RunOptions& options, const config::Config& config,
                       const std::string& directory, Earlier earlier, Narrator& narrator,
                       const std::atomic<bool>& interrupted) {
  Result<Begun> begun = Begin(options, config, directory, std::move(earlier), narrator);
  if (!begun) return begun.error();
  Result<RunOutcome> outcome = Conduct(options, config, directory, narrator, interrupted, *begun);
  if (!outcome || begun->journal == nullptr) return outcome;
  if (begun->journal->failure()) {
    narrator.Warn(Text("not all work was kept: ", begun->journal->failure()->message));
  }
  outcome->resumable = !outcome->summary.value("complete", false);
  begun->journal.reset();
  std::error_code absent;
  if (!outcome->resumable) std::filesystem::remove(Text(directory, "/", kWorkFile), absent);
  return outcome;
}

bool HasTrue(const report::Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key] == report::Json(true);
}

// What a complete run came to; null for one that was cut off, maybe while it wrote its summary. Of
// the record no more is needed: it is written again. From a summary, `options` learn of faults.
Result<report::Json> CompleteSummary(const std::string& directory, RunOptions& options) {
  const std::filesystem::path root(directory);
  std::error_code error;
  if (!std::filesystem::exists(root, error)) return NotFound(Text(directory, " does not exist"));
  if (!std::filesystem::exists(root / report::kEventsFile, error)) {
    return NotFound(Text(directory, " is no run directory: it has no ", report::kEventsFile));
  }
  Result<report::Json> summary = report::ReadRunJson(root / report::kSummaryFile);
  if (!summary) return report::Json();
  options.faults = HasTrue(*summary, "faults");
  if (!HasTrue(*summary, "complete")) return report::Json();
  Result<void> whole = report::CheckSummary(*summary);
  if (whole) return summary;
  return Invalid(Text(directory, "/", report::kSummaryFile, " is damaged: ", whole.error().message,
                      "; bring it back, or ", StartAnew(options, directory)));
}

Result<Earlier> OpenEarlier(std::unique_ptr<DirectoryLock> lock, const RunOptions& options,
                            const std::string& directory) {
  Result<std::unique_ptr<work::WorkJournal>> journal =
      work::WorkJournal::Open(Text(directory, "/", kWorkFile));
  if (journal) return Earlier{std::move(lock), *std::move(journal)};
  return Invalid(Text(directory, " keeps no work to go on with (", journal.error().message,
                      "): ", StartAnew(options, directory)));
}

// In a directory that is ours.
Result<RunOutcome> GoOn(const RunOptions& options, const std::string& directory, Earlier earlier,
                        Narrator& narrator, const std::atomic<bool>& interrupted) {
  RunOptions its = options;
  const report::Json begun = report::Json::parse(earlier.journal->identity(), nullptr, false);
  if (begun.is_object()) {
    its.record = begun.value("record", "auto");
    its.faults = begun.value("faults", false);
  }
  const std::string path = Text(directory, "/", report::kConfigFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFound(Text(directory, " has lost its ", report::kConfigFile, ": bring it back, or ",
                         StartAnew(its, directory)));
  }
  Result<config::Config> config = config::ReadConfig(path);
  if (!config) return config.error();
  if (Result<void> read = data::ReadTable(config->data); !read) return read.error();
  return Run(its, *config, directory, std::move(earlier), narrator, interrupted);
}

}  // namespace

Result<RunOutcome> RunSimulation(const RunOptions& options, const config::Config& config,
                                 const std::string& directory, Narrator& narrator,
                                 const std::atomic<bool>& interrupted) {
  return Run(options, config, directory, {}, narrator, interrupted);
}

Result<RunOutcome> ResumeSimulation(const RunOptions& options, const std::string& directory,
                                    Narrator& narrator, const std::atomic<bool>& interrupted) {
  if (Result<void> simulated = RefuseFederation(directory); !simulated) return simulated.error();
  RunOptions its = options;
  Result<report::Json> ended = CompleteSummary(directory, its);
  if (!ended) return ended.error();
  if (!ended->is_null()) return RunOutcome{*ended, 0, 0};  // without a lock: it is only looked at
  Result<std::unique_ptr<DirectoryLock>> lock = DirectoryLock::Take(directory);
  if (!lock) return lock.error();
  ended = CompleteSummary(directory, its);  // its process may have completed it in between
  if (!ended) return ended.error();
  if (!ended->is_null()) return RunOutcome{*ended, 0, 0};
  Result<Earlier> earlier = OpenEarlier(*std::move(lock), its, directory);
  if (!earlier) return earlier.error();
  return GoOn(its, directory, *std::move(earlier), narrator, interrupted);
}

}  // namespace metis::simulation
