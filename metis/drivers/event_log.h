// Where events become durable: a log of (time, event) since the latest snapshot. In memory for
// simulation, on disk for production, nowhere where a restart is to begin anew. One
// DurableController owns a log; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/federation/event.h"

namespace metis::drivers {

struct LoggedEvent {
  Instant time;
  federation::Event event;
};

struct Recovered {
  // Empty: from the beginning. Reads its models from the log, until its next snapshot.
  std::optional<Archived> snapshot;
  std::vector<LoggedEvent> events;  // after the snapshot, in order
};

class EventLog {
 public:
  virtual ~EventLog() = default;

  // Durable, with the model in it, when this returns without an error.
  virtual Result<void> Append(Instant time, const federation::Event& event) = 0;
  // The state after everything appended so far: earlier events are no longer needed to restart.
  virtual Result<void> SaveSnapshot(Archived snapshot) = 0;
  virtual Result<Recovered> Load() const = 0;
  // The same told one by one, the snapshot first if there is one: the models of many events need
  // not be in memory together, nor those of a snapshot. The first error ends it.
  using OnSnapshot = std::function<Result<void>(const Archived&)>;
  using OnEvent = std::function<Result<void>(const LoggedEvent&)>;
  virtual Result<void> Replay(const OnSnapshot& on_snapshot, const OnEvent& on_event) const;
  // How many events there were before the latest snapshot: where the record of a run goes on.
  virtual uint64_t events_before_snapshot() const = 0;
  // False: a restart begins anew.
  virtual bool remembers() const { return true; }
};

// Survives a simulated crash of the controller, since it lives outside it.
class MemoryEventLog final : public EventLog {
 public:
  Result<void> Append(Instant time, const federation::Event& event) override;
  Result<void> SaveSnapshot(Archived snapshot) override;
  Result<Recovered> Load() const override { return state_; }
  uint64_t events_before_snapshot() const override { return before_snapshot_; }

 private:
  Recovered state_;
  uint64_t before_snapshot_ = 0;
};

// Keeps nothing: for a federation that may be lost with its process. Models are let go as soon as
// the controller does. A snapshot is shown, to whoever wants to know what is still needed.
class NoEventLog final : public EventLog {
 public:
  using Look = std::function<void(const Archived& snapshot)>;
  explicit NoEventLog(Look look = nullptr) : look_(std::move(look)) {}

  Result<void> Append(Instant, const federation::Event&) override {
    ++events_;
    return {};
  }
  Result<void> SaveSnapshot(Archived snapshot) override {
    before_snapshot_ = events_;
    if (look_) look_(snapshot);
    return {};
  }
  Result<Recovered> Load() const override { return Recovered(); }
  uint64_t events_before_snapshot() const override { return before_snapshot_; }
  bool remembers() const override { return false; }
  uint64_t events() const { return events_; }  // appended so far

 private:
  const Look look_;
  uint64_t events_ = 0;
  uint64_t before_snapshot_ = 0;
};

}  // namespace metis::drivers
