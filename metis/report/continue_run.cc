// RunWriter::Continue: what of a record stays when its run goes on.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "metis/core/text.h"
#include "metis/report/light_reader.h"
#include "metis/report/run_directory.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

// Passes on what it hears, and counts updates: each has its record in models.f32.
class CountingUpdates final : public drivers::Recorder {
 public:
  explicit CountingUpdates(drivers::Recorder& listener) : listener_(listener) {}
  void Event(Instant now, const federation::Event& event) override {
    updates += std::holds_alternative<federation::UpdateReceived>(event);
    listener_.Event(now, event);
  }
  void Action(Instant now, const federation::Action& action) override {
    listener_.Action(now, action);
  }
  uint64_t updates = 0;

 private:
  drivers::Recorder& listener_;
};

Result<LightRead> ReadKept(const fs::path& path, uint64_t events, drivers::Recorder& listener) {
  if (events == 0) return LightRead{};
  Result<LightRead> read = ReadLightly(path, listener, events);
  if (!read || read->events == events) return read;
  return Invalid(Text(path.string(), " holds ", read->events,
                      " whole events, but the state was saved "
                      "after ",
                      events, ": the last ", events - read->events,
                      " were lost (did the machine lose its power?): restore the record from a "
                      "copy, or begin anew in another directory"));
}

// Whether record 0 is this model, byte by byte.
bool BeginsWith(const fs::path& path, const Model& model) {
  std::vector<char> bytes(model.bytes().size());
  std::ifstream file(path, std::ios::binary);
  return file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) &&
         std::memcmp(bytes.data(), model.bytes().data(), bytes.size()) == 0;
}

// How many models of the file stay; 0: it lacks the initial one, and nothing refers to it yet.
Result<uint64_t> ModelsKept(const fs::path& path, const Model& initial, Record record,
                            const LightRead& kept, uint64_t updates) {
  std::error_code absent;
  const uintmax_t found = fs::file_size(path, absent);
  const uint64_t size = absent ? 0 : found;
  const uint64_t one = initial.bytes().size();
  if (size < one && kept.events == 0) return uint64_t{0};
  const uint64_t wanted = record == Record::kLight ? 1 : 1 + updates;
  if (size / one < wanted) {
    return Invalid(Text(path.string(), " holds ", size / one, " whole models, but the first ",
                        kept.events, " events need ", wanted,
                        ": restore it from a copy, or begin anew in another directory (a run that "
                        "began with a light record goes on with one)"));
  }
  if (record == Record::kLight && size > one) {
    return Invalid(Text(path.string(),
                        " holds models of updates, which a light record does not: "
                        "go on with the replayable record that the run began with"));
  }
  if (!BeginsWith(path, initial)) {
    return Invalid(Text(path.string(),
                        " begins with another initial model: was the run started "
                        "with another configuration?"));
  }
  return wanted;
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::Continue(const std::string& directory,
                                                       uint64_t events_before_snapshot,
                                                       const ModelPtr& initial, Record record,
                                                       drivers::Recorder* listener) {
  const fs::path root(directory);
  std::error_code absent;
  if (!fs::exists(root / kEventsFile, absent)) {
    return NotFound(Text(directory, " is no run directory: it has no ", kEventsFile));
  }
  std::unique_ptr<RunWriter> writer(new RunWriter(directory, record));
  drivers::BothRecorders listeners(&writer->summary_, listener);
  CountingUpdates counting(listeners);
  Result<LightRead> kept = ReadKept(root / kEventsFile, events_before_snapshot, counting);
  if (!kept) return kept.error();
  Result<uint64_t> models =
      ModelsKept(root / kModelsFile, *initial, record, *kept, counting.updates);
  if (!models) return models.error();

  Result<AppendFile> events_file = AppendFile::Open(root / kEventsFile, kept->bytes);
  if (!events_file) return events_file.error();
  Result<AppendFile> models_file =
      AppendFile::Open(root / kModelsFile, *models * initial->bytes().size());
  if (!models_file) return models_file.error();
  writer->events_ = *std::move(events_file);
  writer->models_ = *std::move(models_file);
  writer->models_written_ = *models;
  if (*models == 0) writer->AppendModel(*initial);
  fs::remove(root / kSummaryFile, absent);  // of the run as if it had ended
  return writer;
}

}  // namespace metis::report
