// A Controller whose every event is durable before any action that it causes is handed out, and
// which restarts exactly where it was: latest snapshot plus the events after it. The same for every
// world; a world brings its EventLog. One thread owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metis/core/result.h"
#include "metis/drivers/event_log.h"
#include "metis/federation/controller.h"

namespace metis::drivers {

class DurableController {
 public:
  // A new federation, or one that `log` has seen part of. After `snapshot_every` events a snapshot
  // is saved with the next one: more of them shorten a restart and cost a write of the state each.
  // Pool and log outlive it.
  static Result<std::unique_ptr<DurableController>> Open(const federation::Settings& settings,
                                                         ModelPtr initial, ModelPool& pool,
                                                         EventLog& log, uint64_t snapshot_every);

  // Logs the event, then handles it; on an error nothing has happened.
  Result<void> Handle(Instant now, const federation::Event& event,
                      std::vector<federation::Action>& out);

  const federation::Controller& controller() const { return controller_; }

 private:
  DurableController(const federation::Settings& settings, ModelPtr initial, ModelPool& pool,
                    EventLog& log, uint64_t snapshot_every);
  Result<void> Recover();

  federation::MemoryModelStore store_;
  federation::Controller controller_;
  EventLog& log_;
  uint64_t snapshot_every_;
  uint64_t since_snapshot_ = 0;
  std::optional<LoggedEvent> unlogged_;  // only ever set by the planted bug action-before-durable
};

}  // namespace metis::drivers
