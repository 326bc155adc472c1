// A Controller whose every event is durable before any action that it causes is handed out, and
// which restarts exactly where it was: latest snapshot plus the events after it. The same for every
// world; a world brings its EventLog. One thread owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "metis/core/result.h"
#include "metis/drivers/event_log.h"
#include "metis/drivers/recorder.h"
#include "metis/drivers/watched_store.h"
#include "metis/federation/controller.h"

namespace metis::drivers {

struct DurableOptions {
  // After so many events a snapshot is saved with the next one: more of them shorten a restart and
  // cost a write of the state each.
  uint64_t snapshot_every = 1000;
  // Likewise after events with so many bytes of models: the log holds them until then.
  uint64_t snapshot_bytes = std::numeric_limits<uint64_t>::max();
  // Where the learners' latest models are kept; null: in memory.
  std::unique_ptr<federation::ModelStore> store = nullptr;
  // Hears the events that are folded again after the latest snapshot, and what they cause. Null:
  // nobody does.
  Recorder* recorder = nullptr;
  // Called before an event is logged: an error refuses it. For whoever must keep up with the log.
  std::function<Result<void>()> before_event = nullptr;
  // Called before a snapshot is saved: what the events before it led to must be durable then.
  std::function<Result<void>()> before_snapshot = nullptr;
};

class DurableController {
 public:
  // A new federation, or one that `log` has seen part of. Pool and log outlive it.
  static Result<std::unique_ptr<DurableController>> Open(const federation::Settings& settings,
                                                         ModelPtr initial, ModelPool& pool,
                                                         EventLog& log, DurableOptions options);

  // Logs the event, then handles it; on an error nothing has happened, and the next event may be
  // taken, unless it has failed().
  Result<void> Handle(Instant now, const federation::Event& event,
                      std::vector<federation::Action>& out);

  // A learner's model could not be read while the latest event was handled: what came of it is not
  // what the log says, so that none of it was handed out, and nothing more is handled. The event is
  // in the log: to go on, open it again. Never with a log that remembers nothing, where what was
  // decided stands.
  bool failed() const { return failure_.has_value(); }

  const federation::Controller& controller() const { return controller_; }

 private:
  DurableController(const federation::Settings& settings, ModelPtr initial, ModelPool& pool,
                    EventLog& log, DurableOptions options);
  Result<void> Recover();
  Result<void> CheckStore();
  void Count(const federation::Event& event);

  DurableOptions options_;
  WatchedStore store_;
  federation::Controller controller_;
  EventLog& log_;
  uint64_t since_snapshot_ = 0;        // events
  uint64_t bytes_since_snapshot_ = 0;  // of their models
  std::optional<Error> failure_;
  std::optional<LoggedEvent> unlogged_;  // only ever set by the planted bug action-before-durable
};

}  // namespace metis::drivers
