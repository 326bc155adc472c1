#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "metis/core/text.h"
#include "metis/data/catalogue.h"
#include "metis/doctor/gather.h"
#include "metis/report/light_reader.h"
#include "metis/report/run_directory.h"
#include "metis/report/run_files.h"
#include "metis/store/inspect_log.h"
#include "metis/store/sqlite_event_log.h"

namespace metis::doctor {
namespace {

namespace fs = std::filesystem;
using State = RunFacts::State;

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Bytes of one model of the run; 0: unknown.
uint64_t ModelBytes(const std::string& run) {
  Result<report::Json> schema = report::ReadRunJson(Text(run, "/", report::kSchemaFile));
  if (!schema || !schema->is_object()) return 0;
  const auto parameters = schema->find("parameters");
  if (parameters == schema->end() || !parameters->is_number_unsigned()) return 0;
  return parameters->get<uint64_t>() * sizeof(float);
}

bool IsFinished(const std::string& run) {
  Result<report::Json> summary = report::ReadRunJson(Text(run, "/", report::kSummaryFile));
  if (!summary || !summary->is_object()) return false;
  const auto complete = summary->find("complete");
  return complete != summary->end() && complete->is_boolean() && complete->get<bool>();
}

void FindMissing(RunFacts& facts, const std::vector<std::string>& blobs,
                 const ControllerFiles& files) {
  const uint64_t expected = ModelBytes(facts.directory);
  facts.models = blobs.size();
  for (const std::string& name : blobs) {
    const std::string path = Text(facts.directory, "/", files.blobs, "/", name);
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error || (expected != 0 && size != expected)) facts.missing_models.push_back(name);
  }
  std::vector<std::string> needed = {report::kConfigFile, report::kSchemaFile, report::kEventsFile};
  needed.insert(needed.end(), files.needed.begin(), files.needed.end());
  for (const std::string& file : needed) {
    if (!Exists(Text(facts.directory, "/", file))) facts.missing_files.push_back(file);
  }
  const bool begun = facts.saved > 0;  // else the models are written anew
  if (begun && !Exists(Text(facts.directory, "/", report::kModelsFile))) {
    facts.missing_files.push_back(report::kModelsFile);
  }
}

void Look(RunFacts& facts, const ControllerFiles& files) {
  const std::string state = Text(facts.directory, "/", files.state);
  if (const std::optional<std::string> holder = store::LockHolder(state + ".lock")) {
    facts.state = State::kInUse;
    facts.holder = *holder;
    if (Result<std::string> address =
            report::ReadRunFile(Text(facts.directory, "/", files.address))) {
      facts.address = address->substr(0, address->find('\n'));
    }
    return;
  }
  Result<store::LogFacts> log = store::InspectLog(state);
  if (!log) {
    facts.state = log.error().code == ErrorCode::kInvalid ? State::kDamaged : State::kHidden;
    facts.words = log.error().message;
    return;
  }
  facts.known = store::kLogFormat;
  facts.format = log->format;
  if (log->format > store::kLogFormat) {
    facts.state = State::kNewer;
    return;
  }
  facts.state = IsFinished(facts.directory) ? State::kFinished : State::kWhole;
  facts.events = log->events;
  facts.saved = log->events_before;
  facts.identity = log->identity;
  FindMissing(facts, log->blobs, files);
  const std::string record = Text(facts.directory, "/", report::kEventsFile);
  if (!Exists(record)) return;
  Result<uint64_t> recorded = report::CountEvents(record);
  if (recorded) {
    facts.recorded = *recorded;
  } else {
    facts.state = State::kHidden;
    facts.words = recorded.error().message;
  }
}

}  // namespace

RunFacts GatherRun(const std::string& directory, const ControllerFiles& files) {
  RunFacts facts;
  facts.directory = directory;
  std::error_code error;
  if (!fs::exists(directory, error) && !error) return facts;
  fs::directory_iterator entries(directory, error);
  if (!error && ::access(directory.c_str(), R_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    facts.state = State::kHidden;
    facts.words = error.message();
    return facts;
  }
  if (Exists(Text(directory, "/", files.state))) {
    Look(facts, files);
  } else if (!report::CheckRunDirectory(directory, report::kEventsFile, false) &&
             !files.never_named(directory)) {
    facts.state = IsFinished(directory) ? State::kFinished : State::kForeign;
    facts.words = entries->path().filename().string();
  }
  return facts;
}

DataFacts DescribeData(const std::string& what, const data::Dataset& train,
                       const data::Dataset* test, bool coarse_labels) {
  DataFacts facts;
  facts.what = what;
  facts.examples = train.size();
  facts.shape = data::FormatShape(train.shape());
  facts.classes = train.classes();
  for (uint32_t label = 0; label < train.classes(); ++label) {
    if (train.class_counts()[label] == 1) facts.single.push_back(train.ClassName(label));
  }
  const data::KnownSet* known = data::FindKnown(what);
  if (known == nullptr || coarse_labels) return facts;
  const auto compare = [&](data::Part part, uint64_t recorded, const data::Dataset& set) {
    if (recorded != 0 && !data::IsAsRecorded(*known, part, set)) {
      facts.unrecorded.emplace_back(data::PartName(part));
    }
  };
  compare(data::Part::kTrain, known->train_fingerprint, train);
  if (test != nullptr) compare(data::Part::kTest, known->test_fingerprint, *test);
  return facts;
}

}  // namespace metis::doctor
