#include "metis/service/controller_setup.h"

#include <sys/random.h>

#include <array>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "metis/builtin/data.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/data/source.h"
#include "metis/report/controller_files.h"
#include "metis/report/run_files.h"

namespace metis::service {
namespace {

constexpr std::string_view kAuto = "auto";

Result<config::Config> ReadSettings(const ControllerOptions& options, bool goes_on) {
  if (!options.file.empty()) return config::ReadConfig(options.file, options.overrides);
  if (goes_on) {
    return config::ReadConfig(Text(options.run, "/", report::kConfigFile), options.overrides);
  }
  return config::ParseConfig("", "defaults", options.overrides);
}

// What to type to get an initial model.
std::string HowToMakeAModel(const config::Config& config) {
  return Text("metis model init ", config.training.model, " --dataset ", config.source.dataset,
              " --seed ", config.simulation.seed,
              config.training.share_statistics ? "" : " --local-statistics",
              " --out initial.metis");
}

store::ModelFile BuiltinModel(const config::Config& config) {
  builtin::BuiltinData data = config.simulation.builtin;
  data.training_examples = data.test_examples = 1;  // the initial model depends on neither
  const builtin::GaussianTask task(data, config.simulation.seed);
  ModelPool pool(task.schema());
  return {{{"dataset", config.source.dataset}}, task.InitialModel(pool)};
}

// What a run can't go on without, and what helps beside a copy of it.
Error Lacking(const Error& error, std::string_view otherwise) {
  return {error.code, Text(error.message, ": restore it from a copy of the run, or ", otherwise)};
}

Result<store::ModelFile> ReadInitial(const ControllerOptions& options, const config::Config& config,
                                     bool goes_on) {
  if (!options.model.empty()) return store::ReadModelFile(options.model);
  if (goes_on) {
    Result<store::ModelFile> kept =
        store::ReadModelFile(Text(options.run, "/", report::kInitialFile));
    if (!kept) return Lacking(kept.error(), "name the model that it began with: --model FILE");
    return kept;
  }
  if (config.source.dataset == data::kBuiltinData) return BuiltinModel(config);
  return Invalid(Text("a federation begins with a model, and --model names none. Make one:\n  ",
                      HowToMakeAModel(config), "\nand add --model initial.metis"));
}

// Learners build the network that the file says it is of. A file from elsewhere may say nothing:
// then the schemas are compared when learners join.
Result<void> AgreeOnModel(const store::ModelFacts& facts, config::Config& config) {
  const auto fact = [&](const char* key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
  };
  const std::string architecture = fact("architecture");
  if (architecture.empty()) return {};
  if (config.training.model == kAuto) config.training.model = architecture;
  if (config.training.model != architecture) {
    return Invalid(Text("training.model = \"", config.training.model, "\", but the initial model ",
                        "is a \"", architecture, "\": change one (", HowToMakeAModel(config), ")"));
  }
  const bool shared = fact("share_statistics") != "false";
  if (shared != config.training.share_statistics) {
    return Invalid(Text("training.share_statistics = ", config.training.share_statistics,
                        ", but the initial model was made with ", shared, ": change one (",
                        HowToMakeAModel(config), ")"));
  }
  return {};
}

// The lines of a configuration, each after its section.
std::vector<std::string> KeyLines(std::string_view text) {
  std::vector<std::string> lines;
  std::string section;
  for (std::string_view line : Split(text, '\n')) {
    if (line.starts_with('[')) section = line;
    lines.push_back(Text(section, "\n", line));
  }
  return lines;
}

// Without the keys that `begun_with` does not have, where they are at their defaults: a later
// version has more keys, and the federation is the same.
std::string WithoutLaterKeys(const std::string& text, std::string_view begun_with) {
  const auto key_of = [](const std::string& line) { return line.substr(0, line.find(" = ")); };
  std::set<std::string> known;
  for (const std::string& line : KeyLines(begun_with)) known.insert(key_of(line));
  std::set<std::string> defaults;
  for (std::string& line : KeyLines(config::FormatConfig(config::DefaultConfig()))) {
    defaults.insert(std::move(line));
  }
  std::string kept;
  for (const std::string& line : KeyLines(text)) {
    if (!known.contains(key_of(line)) && defaults.contains(line)) continue;
    kept += line.substr(line.find('\n') + 1) + '\n';
  }
  kept.pop_back();  // the text ends with a line end, after which there is one more, empty line
  return kept;
}

std::string_view RecordWord(report::Record record) {
  return record == report::Record::kLight ? "light" : "replayable";
}

std::string NewName(const ControllerSetup& setup) {
  std::array<char, 16> draw{};
  METIS_CHECK(::getrandom(draw.data(), draw.size(), 0) == static_cast<ssize_t>(draw.size()));
  return Hex(Fingerprint(setup.identity() + std::string(draw.data(), draw.size())));
}

// What is the same at every start of a run.
Result<void> NameAndRecord(const ControllerOptions& options, ControllerSetup& setup) {
  if (!setup.goes_on) {
    setup.federation = NewName(setup);
    setup.record = options.record.value_or(report::Record::kLight);
    return {};
  }
  const std::string path = Text(options.run, "/", report::kFederationFile);
  Result<std::string> text = report::ReadRunFile(path);
  constexpr std::string_view kOtherwise = "begin anew in another --run";
  if (!text) return Lacking(text.error(), kOtherwise);
  const size_t end = text->find('\n');
  const bool light = end != text->npos && text->substr(end + 1) == "light\n";
  const bool replayable = end != text->npos && text->substr(end + 1) == "replayable\n";
  if (!light && !replayable) {
    return Lacking(Invalid(Text(path, " is damaged (it is no federation's name)")), kOtherwise);
  }
  setup.federation = text->substr(0, end);
  setup.record = light ? report::Record::kLight : report::Record::kReplayable;
  if (options.record && *options.record != setup.record) {
    return Invalid(Text("--record ", RecordWord(*options.record), ": the run in ", options.run,
                        " was begun with --record ", RecordWord(setup.record), ", which stays"));
  }
  return {};
}

}  // namespace

std::string ControllerSetup::identity() const {
  config::Config settings = config;
  settings.network = {};
  settings.storage = {};
  settings.dashboard = {};
  std::string text = config::FormatConfig(settings);
  if (!begun_with.empty()) text = WithoutLaterKeys(text, begun_with);
  return Text("configuration ", Hex(Fingerprint(text)), ", initial model ",
              Hex(initial.model->Fingerprint()));
}

Result<ControllerSetup> ReadSetup(const ControllerOptions& options) {
  ControllerSetup setup;
  setup.accept_loss = options.accept_loss;
  std::error_code absent;
  setup.goes_on = std::filesystem::exists(Text(options.run, "/", report::kStateFile), absent);
  Result<config::Config> config = ReadSettings(options, setup.goes_on);
  if (!config) return config.error();
  Result<store::ModelFile> initial = ReadInitial(options, *config, setup.goes_on);
  if (!initial) return initial.error();
  if (Result<void> agreed = AgreeOnModel(initial->facts, *config); !agreed) return agreed.error();
  if (setup.goes_on && config->storage.durability == store::Durability::kNone) {
    return Invalid(Text(options.run, " holds the state of a federation, and storage.durability = ",
                        "\"none\" would not keep it up: leave that out, or choose another --run"));
  }
  setup.config = *std::move(config);
  setup.initial = *std::move(initial);
  if (setup.goes_on) {
    Result<std::string> begun_with =
        report::ReadRunFile(Text(options.run, "/", report::kConfigFile));
    if (begun_with) setup.begun_with = *std::move(begun_with);
  }
  if (Result<void> named = NameAndRecord(options, setup); !named) return named.error();
  return setup;
}

bool IsFinished(const std::string& run) {
  Result<report::Json> summary =
      report::ReadRunJson(std::filesystem::path(run) / report::kSummaryFile);
  return summary && summary->is_object() && (*summary)["complete"] == true;
}

Result<void> WriteSetup(const ControllerSetup& setup, const std::string& run) {
  Result<void> wrote = store::WriteModelFile(Text(run, "/", report::kInitialFile),
                                             setup.initial.facts, *setup.initial.model);
  if (!wrote) return wrote;
  return report::WriteRunFile(Text(run, "/", report::kFederationFile),
                              Text(setup.federation, "\n", RecordWord(setup.record), "\n"));
}

bool NeverNamed(const std::string& run) {
  std::error_code error;
  if (std::filesystem::file_size(Text(run, "/", report::kEventsFile), error) != 0 || error)
    return false;
  std::filesystem::directory_iterator entries(run, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    bool ours = false;
    for (const char* file : {report::kConfigFile, report::kSchemaFile, report::kEventsFile,
                             report::kModelsFile, report::kLockFile, report::kInitialFile}) {
      ours = ours || name.starts_with(file);  // also half written, under a longer name
    }
    if (!ours) return false;
  }
  return !error;
}

}  // namespace metis::service
