// A run directory (docs/run-directory.md): everything that happened in one federation, as files.
//
//   config.toml     the resolved settings, seed included
//   schema.json     names and shapes of the model's tensors
//   models.f32      the initial model, then the model of every update received (if the record is to
//                   be replayable), as raw float32
//   events.jsonl    every event the controller handled and every note it made, a line each
//   summary.json    what the run came to, written at its end
//
// The writer appends as the run goes; a reader of a run that was cut off finds all whole lines.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/drivers/recorder.h"
#include "metis/report/append_file.h"
#include "metis/report/json_archive.h"
#include "metis/report/record_lines.h"
#include "metis/report/run_files.h"
#include "metis/report/summary.h"

namespace metis::report {

inline constexpr const char* kModelsFile = "models.f32";
inline constexpr const char* kEventsFile = "events.jsonl";

enum class Record {
  kReplayable,  // with the model of every update: the run can be replayed bit for bit
  kLight,       // updates by their fingerprints
};

// Writes a run directory. Not thread-safe. A full disk is noticed at Ready(), Sync() and Finish(),
// never ignored; what did not fit is written once there is room (AppendFile), and Continue() mends
// the record of a process that ended before.
class RunWriter final : public drivers::Recorder {
 public:
  // Creates the directory. One that exists is refused, unless `replace` is set and it holds a run:
  // then its files are overwritten.
  static Result<std::unique_ptr<RunWriter>> Create(const std::string& directory,
                                                   const std::string& config_toml,
                                                   const ModelPtr& initial, bool replace,
                                                   Record record = Record::kReplayable,
                                                   const DirectoryOptions& options = {});

  // Goes on with the record of a run whose process ended before the run did. The first
  // `events_before_snapshot` events and their notes stay, and the models of the updates among them;
  // everything later, a torn line too, is cut off and must be told again. `initial` and `record`
  // are those that the run began with. An error (fewer events or models than that, another initial
  // model) changes nothing. Reads events.jsonl once; `listener`, if there is one, is told what
  // stays, as by ReadLightly().
  static Result<std::unique_ptr<RunWriter>> Continue(const std::string& directory,
                                                     uint64_t events_before_snapshot,
                                                     const ModelPtr& initial,
                                                     Record record = Record::kReplayable,
                                                     drivers::Recorder* listener = nullptr);

  void Event(Instant now, const federation::Event& event) override;
  void Action(Instant now, const federation::Action& action) override;

  const SummaryBuilder& summary() const { return summary_; }

  // Whether all that was told could be written so far; if not, it is tried again. Whoever waits for
  // it before each event keeps no more than one in memory.
  Result<void> Ready();

  // Makes durable what was told so far: before a snapshot is saved, after which Continue() needs
  // it.
  Result<void> Sync();

  // Writes the summary, once all before it was written. Durable is only what Sync() made so.
  Result<void> Finish(const RunFacts& facts, const federation::Controller& controller);

 private:
  RunWriter(std::string directory, Record record)
      : directory_(std::move(directory)), record_(record) {}
  uint64_t AppendModel(const Model& model);
  void AppendLine(const Json& line);
  Result<void> Flush();
  Result<void> Incomplete(const Result<void>& events, const Result<void>& models) const;

  const std::string directory_;
  const Record record_;
  AppendFile events_;
  AppendFile models_;
  uint64_t models_written_ = 0;
  bool names_durable_ = false;  // of the files, and the ones written at the start
  SummaryBuilder summary_;
};

// The line of a note, without its time; empty for an action that is none.
Json NoteLine(const federation::Action& action);

// Reads a run directory line by line. Errors name file and line.
class RunReader {
 public:
  static Result<std::unique_ptr<RunReader>> Open(const std::string& directory);

  const std::string& config_toml() const { return config_toml_; }
  ModelPool& pool() { return *pool_; }
  const ModelPtr& initial() const { return initial_; }
  // Null where the run was cut off before its end.
  const Json& summary() const { return summary_; }

  struct Note {
    Json line;  // as NoteLine() makes it
  };
  struct End {};
  using Content = std::variant<End, federation::Event, Note>;
  struct Line {
    Instant time;
    Content content;
  };
  Result<Line> Next();
  uint64_t line_number() const { return events_->number(); }

 private:
  explicit RunReader(std::string directory) : directory_(std::move(directory)) {}
  Result<void> ReadSchemaAndInitial();
  Result<ModelPtr> ReadModel(uint64_t record);
  Result<Line> Parse(const std::string& text);

  const std::string directory_;
  std::string config_toml_;
  std::unique_ptr<ModelPool> pool_;
  ModelPtr initial_;
  Json summary_;
  std::optional<RecordLines> events_;  // always there once it is open
  std::ifstream models_;
};

}  // namespace metis::report
