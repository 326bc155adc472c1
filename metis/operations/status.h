// A federation as its operator sees it at one moment. One document for everybody who looks: `metis
// status --json`, the dashboard and /metrics show this and nothing else (docs/operations.md has the
// fields).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metis/report/json_archive.h"

namespace metis::operations {

struct ParticipantStatus {
  uint32_t id = 0;
  std::string name;
  std::string role;   // "learner", "observer"
  std::string group;  // as declared; may be empty
  // "training", "committing" (its update waits for its commit), "idle" (has what it asked for and
  // owes nothing; observers), "away" (not connected, its lease runs), "lost", "left".
  std::string state;
  bool connected = false;
  std::string address;  // of its connection; empty: none
  uint32_t incarnation = 0;
  uint64_t training_examples = 0;
  uint64_t validation_examples = 0;
  std::optional<uint64_t> version;    // the newest that it was sent
  std::optional<uint64_t> staleness;  // steps committed since it was sent that version
  double contribution = 0;            // p_k of its model in the community; 0: none
  double share = 0;                   // p_k / P
  uint64_t updates = 0;
  uint64_t rejected = 0;
  uint64_t epochs = 0;
  double updates_per_minute = 0;           // over the last RateWindow()
  std::optional<double> last_seen_s;       // ago; none: never in this process
  std::map<std::string, uint64_t> cycles;  // why its cycles ended, and how often
};

struct TestStatus {
  double time_s = 0;
  uint64_t version = 0;
  uint64_t requests = 0;
  double accuracy = 0;
  double loss = 0;
};

// A validation cycle that ended with a committed update.
struct CycleStatus {
  double time_s = 0;
  uint32_t learner = 0;
  uint64_t epochs = 0;
  std::string reason;
  uint64_t staleness = 0;  // effective, of the update
};

struct EventStatus {
  double time_s = 0;
  std::string text;  // "site-3 is lost"
};

struct Status {
  // --- What it is
  std::string program;     // "metis 0.1.0"
  std::string federation;  // its name for ever
  std::string policy;
  std::string dataset;
  std::string model;  // "mnist-cnn", parameters
  uint64_t parameters = 0;
  std::string run;  // directory, as the controller knows it
  // --- How far it is
  std::string phase;  // "waiting", "running", "paused", "finished"
  std::string phase_reason;
  std::string stopped_by;  // empty: it has not ended
  double time_s = 0;       // of the federation's clock: goes on where it was after a restart
  double uptime_s = 0;     // of this process
  double part = 0;         // of the way to its end, 0 to 1; 0 if it has no end
  uint64_t version = 0;
  uint64_t committed_steps = 0;
  uint64_t requests = 0;
  uint64_t rejected = 0;
  uint64_t withdrawals = 0;
  uint64_t models_exchanged = 0;
  uint64_t models_evaluated = 0;
  uint64_t pending = 0;  // updates acknowledged, not yet committed
  double requests_per_minute = 0;
  std::optional<TestStatus> best;
  // --- What it costs
  uint64_t memory_bytes = 0;  // resident, of the controller
  uint64_t model_bytes = 0;   // of one model
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint32_t connected = 0;
  uint64_t refusals = 0;        // since this process began
  uint64_t dropped_events = 0;  // that the disk refused
  // --- Who, and what happened; the oldest first
  std::vector<ParticipantStatus> participants;  // by id
  std::vector<TestStatus> tests;    // thinned: at most kMostTests, the last always there
  std::vector<CycleStatus> cycles;  // the last kMostCycles
  std::vector<EventStatus> events;  // the last kMostEvents
};

inline constexpr size_t kMostTests = 500;
inline constexpr size_t kMostCycles = 500;
inline constexpr size_t kMostEvents = 100;
inline constexpr double kRateWindowS = 60;

// The document: fields by the names of the structs, absent optionals as null.
report::Json FormatStatus(const Status& status);
// Reads it again, as of another version of the program: unknown fields are ignored, absent ones are
// as in an empty Status. An error names the field whose type is wrong.
Result<Status> ParseStatus(const std::string& text);

}  // namespace metis::operations
