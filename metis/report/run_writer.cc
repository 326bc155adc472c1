#include <filesystem>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/report/run_directory.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

// In notes a model is its fingerprint: enough to see that a replay made the same one.
Json NameByFingerprint(const ModelPtr& model) {
  return model ? Json(Hex(model->Fingerprint())) : Json(nullptr);
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::Create(const std::string& directory,
                                                     const std::string& config_toml,
                                                     const ModelPtr& initial, bool replace,
                                                     Record record,
                                                     const DirectoryOptions& options) {
  if (Result<void> made = MakeRunDirectory(directory, kEventsFile, replace, options); !made) {
    return made.error();
  }
  fs::path root(directory);
  std::error_code absent;
  fs::remove(root / kSummaryFile, absent);  // of the run that is replaced: it is over
  // Next, for it takes no room: where the disk is full the directory is still known for a run's.
  Result<AppendFile> events = AppendFile::Open(root / kEventsFile, 0);
  if (!events) return events.error();
  if (Result<void> wrote = WriteRunFile(root / kConfigFile, config_toml); !wrote) {
    return wrote.error();
  }
  std::string schema = SchemaJson(*initial).dump(2) + "\n";
  if (Result<void> wrote = WriteRunFile(root / kSchemaFile, schema); !wrote) return wrote.error();
  Result<AppendFile> models = AppendFile::Open(root / kModelsFile, 0);
  if (!models) return models.error();
  std::unique_ptr<RunWriter> writer(new RunWriter(directory, record));
  writer->events_ = *std::move(events);
  writer->models_ = *std::move(models);
  writer->AppendModel(*initial);
  if (Result<void> wrote = writer->models_.Flush(); !wrote) return wrote.error();
  return writer;
}

uint64_t RunWriter::AppendModel(const Model& model) {
  const std::span<const std::byte> bytes = model.bytes();
  models_.Append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  // Before the line that refers to it: a killed run's lines have their models. An error is told by
  // Ready(), Finish() or Sync().
  (void)models_.Flush();
  return models_written_++;
}

void RunWriter::AppendLine(const Json& line) {
  // What a participant says about itself may be no UTF-8.
  events_.Append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RunWriter::Event(Instant now, const federation::Event& event) {
  summary_.Event(now, event);
  JsonWriter::ModelName name = [this](const ModelPtr& model) -> Json {
    const Json record = record_ == Record::kLight ? Json(nullptr) : Json(AppendModel(*model));
    return {{"record", record}, {"fingerprint", Hex(model->Fingerprint())}};
  };
  JsonWriter fields(name);
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        Fields(fields, const_cast<T&>(content));
      },
      event);
  Json line;
  line["t_ns"] = now.nanoseconds();
  line["event"] = std::string(federation::kEventNames[event.index()]);
  line.update(std::move(fields).Take());
  AppendLine(line);
}

void RunWriter::Action(Instant now, const federation::Action& action) {
  summary_.Action(now, action);
  Json note = NoteLine(action);
  if (note.is_null()) return;
  Json line;
  line["t_ns"] = now.nanoseconds();
  line.update(note);
  AppendLine(line);
}

Json NoteLine(const federation::Action& action) {
  static const JsonWriter::ModelName kName = NameByFingerprint;
  auto described = [](const char* word, const auto& note) {
    using T = std::decay_t<decltype(note)>;
    JsonWriter fields(kName);
    Fields(fields, const_cast<T&>(note));
    Json line;
    line["note"] = word;
    line.update(std::move(fields).Take());
    return line;
  };
  if (const auto* note = std::get_if<federation::CommunityCommitted>(&action)) {
    return described("committed", *note);
  }
  if (const auto* note = std::get_if<federation::RejectUpdate>(&action)) {
    return described("rejected", *note);
  }
  if (const auto* note = std::get_if<federation::RefuseJoin>(&action)) {
    return described("join-refused", *note);
  }
  if (const auto* note = std::get_if<federation::RefuseCounts>(&action)) {
    return described("counts-refused", *note);
  }
  if (const auto* note = std::get_if<federation::StateChanged>(&action)) {
    return described("state", *note);
  }
  if (const auto* note = std::get_if<federation::Finished>(&action)) {
    return described("finished", *note);
  }
  return nullptr;
}

Result<void> RunWriter::Flush() { return Incomplete(events_.Flush(), models_.Flush()); }

Result<void> RunWriter::Ready() { return Incomplete(events_.Ready(), models_.Ready()); }

Result<void> RunWriter::Incomplete(const Result<void>& events, const Result<void>& models) const {
  if (events && models) return {};
  const Error& error = events ? models.error() : events.error();
  return error.In(Text("the record in ", directory_, " is incomplete"));
}

Result<void> RunWriter::Sync() {
  if (Result<void> flushed = Flush(); !flushed) return flushed;
  // Models first: a line must not be there without its model.
  if (Result<void> synced = models_.Sync(); !synced) return synced;
  if (Result<void> synced = events_.Sync(); !synced) return synced;
  if (names_durable_) return {};
  const fs::path root(directory_);
  for (const fs::path& path : {root / kConfigFile, root / kSchemaFile, root}) {
    if (Result<void> synced = SyncPath(path); !synced) return synced;
  }
  names_durable_ = true;
  return {};
}

Result<void> RunWriter::Finish(const RunFacts& facts, const federation::Controller& controller) {
  if (Result<void> flushed = Flush(); !flushed) return flushed;
  std::string summary = FormatSummary(facts, controller, summary_).dump(2) + "\n";
  return WriteRunFile(fs::path(directory_) / kSummaryFile, summary);
}

}  // namespace metis::report
