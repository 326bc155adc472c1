#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/report/run_directory.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

// Whether it is what the model's fingerprint is recorded as; damage can make it anything.
bool IsFingerprint(const Json& json, const char* key, const Model& model) {
  const auto found = json.find(key);
  return found != json.end() && *found == Json(Hex(model.Fingerprint()));
}

// Builds the alternative of Event whose name this is.
template <size_t I = 0>
Result<federation::Event> ReadEvent(std::string_view name, const Json& line,
                                    const JsonReader::FindModel& find_model) {
  if constexpr (I == std::variant_size_v<federation::Event>) {
    return Invalid(Text("unknown event \"", name, "\""));
  } else {
    if (federation::kEventNames[I] != name) return ReadEvent<I + 1>(name, line, find_model);
    std::variant_alternative_t<I, federation::Event> event;
    JsonReader reader(line, find_model);
    Fields(reader, event);
    if (Result<void> read = reader.Finish(); !read) return read.error();
    return federation::Event(std::move(event));
  }
}

}  // namespace

Result<std::unique_ptr<RunReader>> RunReader::Open(const std::string& directory) {
  std::error_code error;
  fs::path root(directory);
  if (!fs::exists(root, error)) return NotFound(Text(directory, " does not exist"));
  if (!fs::exists(root / kEventsFile, error)) {
    return NotFound(Text(directory, " is no run directory: it has no ", kEventsFile));
  }
  std::unique_ptr<RunReader> reader(new RunReader(directory));
  Result<std::string> config = ReadRunFile(root / kConfigFile);
  if (!config) return config.error();
  reader->config_toml_ = *std::move(config);
  if (fs::exists(root / kSummaryFile, error)) {
    Result<Json> summary = ReadRunJson(root / kSummaryFile);
    if (!summary) return summary.error();
    if (!summary->is_object()) {
      return Invalid(Text((root / kSummaryFile).string(), " is damaged: it holds ",
                          summary->type_name(),
                          " instead of an object: restore it from a copy, or remove it to replay "
                          "without comparing the end"));
    }
    reader->summary_ = *std::move(summary);
  }
  Result<RecordLines> events = RecordLines::Open(root / kEventsFile);
  if (!events) return Unavailable(events.error().message);
  reader->events_ = *std::move(events);
  reader->models_.open(root / kModelsFile, std::ios::binary);
  if (!reader->models_) {
    return Unavailable(
        Text("cannot read ", (root / kModelsFile).string(), ": ", std::strerror(errno)));
  }
  if (Result<void> read = reader->ReadSchemaAndInitial(); !read) return read.error();
  return reader;
}

Result<void> RunReader::ReadSchemaAndInitial() {
  fs::path path = fs::path(directory_) / kSchemaFile;
  Result<Json> json = ReadRunJson(path);
  if (!json) return json.error();
  Result<SchemaPtr> schema = ParseSchema(*json);
  if (!schema) return schema.error().In(path.string());
  pool_ = std::make_unique<ModelPool>(*schema);
  Result<ModelPtr> initial = ReadModel(0);
  if (!initial) return initial.error();
  if (!IsFingerprint(*json, "initial_fingerprint", **initial)) {
    return Invalid(Text("the initial model, record 0 of ", kModelsFile,
                        ", is damaged: it has another fingerprint than ", path.string(), " says"));
  }
  initial_ = *std::move(initial);
  return {};
}

Result<ModelPtr> RunReader::ReadModel(uint64_t record) {
  const fs::path path = fs::path(directory_) / kModelsFile;
  const uint64_t one = pool_->schema()->bytes();
  std::error_code unknown;
  const uintmax_t size = fs::file_size(path, unknown);
  // Before a buffer is made: a damaged schema may ask for more memory than there is.
  if (unknown || size / one <= record) {
    return Invalid(Text(path.string(), " has no whole record ", record, ": it holds ",
                        unknown ? 0 : size, " bytes, and a model of ", kSchemaFile, " has ", one,
                        ": is one of the two files cut off or damaged?"));
  }
  ModelDraft draft = pool_->Draft();
  std::span<std::byte> bytes = std::as_writable_bytes(draft.parameters());
  models_.clear();
  models_.seekg(static_cast<std::streamoff>(record * bytes.size()));
  models_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!models_) {
    return Unavailable(Text("cannot read record ", record, " of ", path.string()));
  }
  return std::move(draft).Seal();
}

Result<RunReader::Line> RunReader::Parse(const std::string& text) {
  Result<TimedLine> timed = ParseTimedLine(text);
  if (!timed) return timed.error();
  Json& json = timed->json;
  Line line;
  line.time = timed->time;
  if (json.contains("note")) {
    json.erase("t_ns");
    line.content = Note{std::move(json)};
    return line;
  }
  JsonReader::FindModel find = [this](const Json& reference) -> Result<ModelPtr> {
    if (reference.is_object() && reference.contains("record") && reference["record"].is_null()) {
      return Invalid(
          "was recorded without its values: only runs made with --record replayable can be "
          "replayed");
    }
    if (!reference.is_object() || !reference.contains("record") ||
        !reference["record"].is_number_unsigned()) {
      return Invalid("names no record of a model");
    }
    Result<ModelPtr> model = ReadModel(reference["record"].get<uint64_t>());
    if (model && !IsFingerprint(reference, "fingerprint", **model)) {
      return Invalid(Text("is damaged: record ", reference["record"].get<uint64_t>(), " of ",
                          kModelsFile, " has another fingerprint"));
    }
    return model;
  };
  auto name = json.find("event");
  if (name == json.end() || !name->is_string()) return Invalid("neither an event nor a note");
  Result<federation::Event> event = ReadEvent(name->get<std::string>(), json, find);
  if (!event) return event.error();
  line.content = *std::move(event);
  return line;
}

Result<RunReader::Line> RunReader::Next() {
  Result<const std::string*> text = events_->Next();
  if (!text) return text.error();
  if (*text == nullptr) return Line{};
  Result<Line> line = Parse(**text);
  if (!line) return events_->Here(line.error());
  return line;
}

}  // namespace metis::report
